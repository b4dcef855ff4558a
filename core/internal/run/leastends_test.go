package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// least is a thread whose store takes an end in its last form alone.
func least(t *testing.T, o options) *world {
	t.Helper()
	w := newWorld(t, o)
	w.refuseClose(int(thread.FormLeast), store.ErrTooLarge)
	return w
}

// entries reads the committed log from a sequence on.
func (w *world) entries(t *testing.T, from uint64) []thread.Entry {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store.Backend, thread.Records{}, key, from, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// payload is the size of a stored record of the log.
func (w *world) payload(t *testing.T, seq uint64) int {
	t.Helper()
	return len(w.record(t, store.LogName(seq)).Payload)
}

// The last form of an end cuts what a person said to the run, where its record is larger
// than every store takes, and keeps the rest of it.
func TestTheLastFormCutsAnInputThatIsTooLarge(t *testing.T) {
	tests := []struct {
		name string
		over int // bytes of its record over the smallest limit that a store may have
		cut  bool
	}{
		{"as large as it may be", 0, false},
		{"larger by a byte", 1, true},
	}
	for _, tt := range tests {
		for _, cancelled := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := options{model: replies([]model.Delta{{Text: "broken pipe"}})}
					fail := func(w *world, said string) mailbox.Receipt {
						receipt := w.submit(t, key, said, mailbox.ModeQueue)
						if cancelled {
							w.take(t, key)
							cancelRun(t, w, &trace{}, receipt)
							w.reclaim(t)
						}
						w.finish(t, key, nil)
						return receipt
					}
					small := newWorld(t, o)
					fail(small, strings.Repeat("i", 1000)) // whose length takes as many bytes
					said := strings.Repeat("i", 1000+thread.MinPayload-small.payload(t, 1)+tt.over)
					w := least(t, o)
					receipt, sent := fail(w, said), time.Now().UnixMilli()
					want := said
					if tt.cut {
						want = strings.Repeat("i", 1018) + "..."
					}
					entries := w.entries(t, 1)
					id := entries[0].Message.ID
					if diff := cmp.Diff([]thread.Entry{{Run: receipt.RunID, Input: receipt.DispatchID, Message: &core.Message{
						ID: id, Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: want}}, RunID: receipt.RunID, CreatedAt: sent,
					}}}, entries); diff != "" || id == "" {
						t.Errorf("cancelled %t: the log (-want +got):\n%s", cancelled, diff)
					}
				})
			})
		}
	}
}

// It cuts a model's last words to their text, and names whoever said them.
func TestTheLastFormCutsLastWordsThatAreTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var receipt mailbox.Receipt
		w = least(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			return func(yield func(model.Delta, error) bool) {
				yield(think("hm"), nil)
				yield(say(strings.Repeat("ä", 5000)), nil)
				cancelRun(t, w, &trace{}, receipt)
				<-ctx.Done()
			}
		})})
		receipt = w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		got := w.entries(t, 2)
		got[0].Sum = 0 // see TestTheLogHasItsChecksums
		if diff := cmp.Diff([]thread.Entry{{Run: receipt.RunID, Step: 1, At: 946684800000, Attempt: 1, Message: &core.Message{
			ID: receipt.RunID.String() + ".1", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("ä", 509) + "..."}},
			RunID: receipt.RunID, Step: 1, StopReason: core.StopOther, CreatedAt: time.Now().UnixMilli(),
		}}}, got); diff != "" {
			t.Errorf("the log behind the input (-want +got):\n%s", diff)
		}
	})
}

// It cuts the name in a result that the end gives to an open call, and no result that a tool
// came to.
func TestTheLastFormCutsResultsOfTheEnd(t *testing.T) {
	const none = "no result: the run was ended first (cancelled)"
	end := func(t *testing.T, w *world) mailbox.Receipt {
		t.Helper()
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.cut(t, time.Second, false); err != nil {
			t.Fatal(err)
		}
		cancelRun(t, w, &trace{}, receipt)
		w.finish(t, key, nil)
		return receipt
	}
	begin := func(t *testing.T, form thread.Form, name string) *world {
		w := newWorld(t, options{mode: agent.Sequential, tools: []tool.Tool{pile(9000, 0), nap}, model: replies(calls("pile", "{}", "nap", "{}", name, "{}"))})
		w.refuseClose(int(form), store.ErrTooLarge)
		return w
	}
	for _, tt := range []struct {
		over int
		form thread.Form
		cut  bool
	}{{0, thread.FormLeast, false}, {1, thread.FormLeast, true}, {1, thread.FormStateless, false}} {
		synctest.Test(t, func(t *testing.T) {
			small := begin(t, tt.form, strings.Repeat("n", 1000))
			end(t, small)
			name := strings.Repeat("n", 1000+thread.MinPayload-small.payload(t, 5)+tt.over)
			w := begin(t, tt.form, name)
			receipt, now := end(t, w), time.Now().UnixMilli()
			if tt.cut {
				name = strings.Repeat("n", 1018) + "..."
			}
			entries := w.entries(t, 3)
			if got := len(entries[0].Message.ToolResult.Text()); got != 9002 {
				t.Errorf("the result of a tool has %d bytes, want 9002", got)
			}
			if diff := cmp.Diff(thread.Entry{Run: receipt.RunID, Step: 1, At: now, Message: &core.Message{
				ID: receipt.RunID.String() + ".1.2", Role: core.RoleTool, RunID: receipt.RunID, Step: 1, CreatedAt: now,
				ToolResult: &core.ToolResult{CallID: entries[2].Message.ToolResult.CallID, Name: name, Message: none, IsError: true, Status: core.ResultNotExecuted},
			}}, entries[2]); diff != "" || w.form(t, receipt) != tt.form {
				t.Errorf("%d bytes over: the end is %s, and the result of the last call (-want +got):\n%s", tt.over, w.form(t, receipt), diff)
			}
		})
	}
}

// The last form keeps the tokens of the step that the end cuts short: the record's usage has
// them, and whoever releases the slot of the run takes them off, since no slot has them.
func TestTheLastFormKeepsTheTokensOfAStepThatWasCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var receipt mailbox.Receipt
		used := core.Usage{Input: 30, Output: 7}
		w = least(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			return func(yield func(model.Delta, error) bool) {
				yield(model.Delta{Type: model.DeltaUsage, Usage: used}, nil)
				yield(say("well"), nil)
				cancelRun(t, w, &trace{}, receipt)
				<-ctx.Done()
			}
		})})
		receipt = w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		r := w.runRecord(t, receipt.RunID)
		if r.Unfinished == nil || w.form(t, receipt) != thread.FormLeast || r.Usage != used {
			t.Fatalf("form %s, usage %+v, cut short: %+v", w.form(t, receipt), r.Usage, r.Unfinished)
		}
		now := time.Now().UnixMilli() // two seconds after the start: the watch looks for a cancel that often
		want := thread.Unfinished{Step: 1, At: now - 2000, Ended: now, Duration: 2000, Usage: used}
		if diff := cmp.Diff(want, *r.Unfinished); diff != "" {
			t.Errorf("the step that was cut short (-want +got):\n%s", diff)
		}
	})
}
