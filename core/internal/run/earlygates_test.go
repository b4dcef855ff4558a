package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// What gates and hooks say of a call beside the commit of its turn counts after it: they are
// asked once about each call, and in sequence only when the call before has its result.
func TestGatesBesideTheCommitAreAskedOnce(t *testing.T) {
	hook := func(h *happenings) plugin.Plugin {
		return pluginFunc{"p", func(r *plugin.Registrar) {
			r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
				h.note("hook of %d", c.CallIndex)
				return state.Command{}, errors.New("broken")
			})
		}}
	}
	gate := func(verdict plugin.Verdict, err error) func(h *happenings) plugin.Plugin {
		return func(h *happenings) plugin.Plugin {
			return gates(func(c plugin.GateCall) (plugin.Verdict, error) {
				h.note("gate of %d", c.CallIndex)
				return verdict, err
			})
		}
	}
	tests := []struct {
		name   string
		mode   agent.ExecutionMode
		turn   []string
		plugin func(h *happenings) plugin.Plugin
		want   []string
	}{
		{"a gate that blocks", agent.ParallelStreaming, []string{"read", "{}"}, gate(plugin.Block("no"), nil), []string{"gate of 0", "turn committed"}},
		{"a gate that fails", agent.ParallelStreaming, []string{"read", "{}"}, gate(plugin.Verdict{}, errors.New("broken")), []string{"gate of 0", "turn committed"}},
		{"a gate that asks", agent.ParallelStreaming, []string{"read", "{}"}, gate(suspends("ask"), nil), []string{"gate of 0", "turn committed"}},
		{"a hook that fails", agent.ParallelStreaming, []string{"read", "{}"}, hook, []string{"hook of 0", "turn committed"}},
		{
			"two that read, in sequence", agent.Sequential, []string{"read", "{}", "look", "{}"}, gate(plugin.Allow, nil),
			[]string{"gate of 0", "read starts", "turn committed", "gate of 1", "look starts"},
		},
		{
			"two that read, side by side", agent.ParallelStreaming, []string{"read", "{}", "look", "{}"}, gate(plugin.Allow, nil),
			[]string{"gate of 0", "gate of 1", "look starts", "read starts", "turn committed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &happenings{start: time.Now()}
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls(tt.turn...), text("ok")), plugins: []plugin.Plugin{tt.plugin(h)}, tools: []tool.Tool{h.reads("read"), h.reads("look")},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				h.slowStore(w)
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, line := range sameTimes(h.lines) {
					_, what, _ := strings.Cut(line, " ")
					again := what == "turn committed" && slices.Contains(got, what) // what ends the run, or makes it wait, writes a head too
					if !again && !strings.HasPrefix(what, "put ") && what != "step committed" {
						got = append(got, what)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("happened (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// No tool starts in a step whose time ends while the gates are asked.
func TestNoCallStartsBesideTheCommitOfAStepThatIsOver(t *testing.T) {
	for _, mode := range allModes {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				h := &happenings{start: time.Now()}
				w := newWorld(t, options{mode: mode, model: replies(calls("read", "{}"), text("ok")), tools: []tool.Tool{h.reads("read")}, plugins: []plugin.Plugin{
					gates(func(plugin.GateCall) (plugin.Verdict, error) {
						cancel()
						return plugin.Allow, nil
					}),
				}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				_, _ = w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil)
				if len(h.lines) > 0 {
					t.Errorf("%q, want no start", h.lines)
				}
			})
		})
	}
}

// A part that a call makes beside the commit of its turn is stored after it, and what the call
// shows comes after it.
func TestPartsBesideTheCommitAreStoredAfterIt(t *testing.T) {
	for _, mode := range allModes {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &happenings{start: time.Now()}
				read := toolFunc{name: "read", readOnly: true, run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
					c.Progress(1, 2, "reading")
					value, err := c.Once(ctx, "part", func(context.Context) (json.RawMessage, error) { return json.RawMessage("1"), nil })
					h.note("part %s, %v", value, err)
					return tool.NewResult("read"), err
				}}
				w := newWorld(t, options{mode: mode, model: replies(calls("read", "{}"), text("ok")), tools: []tool.Tool{read}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				h.slowStore(w)
				var shown events
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, shown.sink); err != nil {
					t.Fatal(err)
				}
				want := []string{"5ms turn committed", "10ms part 1, <nil>", "10ms put " + recordname.Part(receipt.RunID, 2, 0, "part"), "15ms step committed"}
				if diff := cmp.Diff(want, sameTimes(h.lines)); diff != "" {
					t.Errorf("happened (-want +got):\n%s", diff)
				}
				if !slices.ContainsFunc(shown.lines, func(line string) bool { return strings.HasPrefix(line, "activity") }) {
					t.Errorf("shown is %q, want the call's progress", shown.lines)
				}
			})
		})
	}
}
