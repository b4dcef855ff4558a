package run_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// What is recorded of a run's use, whole: for whom, of which agent, from when until when, and
// what of models and tools; nothing of the last two where that cannot be read any more.
func TestWhatIsRecordedOfTheUseOfARun(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var ended []account.Record
			o := options{
				model: turns(says(calls("nap", "{}")...), one), tools: []tool.Tool{nap},
				metering: &accounting.Metering{Keep: 100 * 365 * 24 * time.Hour, Ended: func(_ string, u account.Record) { ended = append(ended, u) }},
			}
			w := metered(t, o)
			receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, User: "ann", Messages: []core.Message{core.UserMessage("hi")},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := account.Record{
				User: "ann", Agent: "demo", Run: receipt.RunID, Since: time.Now().UnixMilli(), End: "natural_end",
				Models: []core.ModelUse{{Model: "scripted", Usage: core.Usage{Input: 6, Output: 4}, Inferences: 2}}, Tools: 1, ToolTime: 6000,
			}
			if lost {
				w.crash(t, commitB)
				cancelRun(t, w, &trace{}, receipt)
				w.spoil(t, store.LogName(2))
				w.stepper = w.other(t, o)
				want.End, want.Models, want.Tools, want.ToolTime, want.Lost = "cancelled", nil, 0, 0, true
			}
			w.finish(t, key, nil)
			want.Until = time.Now().UnixMilli()
			if diff := cmp.Diff([]account.Record{want}, ended, cmpopts.IgnoreFields(account.Record{}, "Spent")); diff != "" {
				t.Errorf("lost %t (-want +got):\n%s", lost, diff)
			}
		})
	}
}

// The log says what the smallest form of an end has left out of what is recorded of its run,
// whichever write of the end is the last.
func TestTheLogSaysWhatAnEndLeavesOutOfItsUse(t *testing.T) {
	const smaller = `level=ERROR msg="run's end too large, stored in a smaller form"`
	tests := []struct {
		name      string
		cancelled bool
		want      string
	}{
		{"failed", false, `level=ERROR msg="usage record too large for the store" step=1 bytes=9220`},
		{"cancelled", true, `level=ERROR msg="usage record too large for the store" step=1 bytes=9224`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				o := options{
					model: turns(says(calls("echo", `{"text":"a"}`)...), breaks(&model.Error{Kind: model.KindInvalid, Message: "no"})), logger: got.logger(),
				}
				agents, err := registry.New(agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Model: o.model, Name: strings.Repeat("m", 9000)}},
					Tools:  []tool.Tool{echoTool(t)}, Specs: []agent.Spec{{ID: "demo", Model: "m"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				o.agents = agents
				w := metered(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if tt.cancelled {
					cancelRun(t, w, &trace{}, receipt)
				}
				got.lines = nil
				w.refuseClose(int(thread.FormLeast), store.ErrTooLarge)
				w.finish(t, key, nil)
				var lines []string
				for _, line := range got.lines {
					if !strings.HasPrefix(line, smaller) && !strings.Contains(line, "run ends with an error") {
						lines = append(lines, line)
					}
				}
				if diff := cmp.Diff([]string{tt.want}, lines); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
