package run_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// loopEvents are the events that say how a run goes on; what they carry, and all
// others, are other tests'.
var loopEvents = []core.EventType{
	core.EventRunStart, core.EventStepStart, core.EventTextDelta, core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallReady,
	core.EventInferenceComplete, core.EventToolCallSuspended, core.EventToolCallDone, core.EventStepEnd, core.EventRunFinish,
}

// loop notes in which order a run calls the code of its agent, commits, and says so:
// hooks and gates by their names, what a reader is told behind ">", commits with what
// the head says then.
type loop struct{ did []string }

func (l *loop) note(format string, args ...any) { l.did = append(l.did, fmt.Sprintf(format, args...)) }

func (l *loop) ID() string { return "loop" }

// Register schedules an action of RunStart for the inference of the first step, and
// emits an effect in each of its phases that has one.
func (l *loop) Register(r *plugin.Registrar) error {
	first := plugin.Action[string]{Phase: core.PhaseBeforeInference, Name: "first"}
	tell := plugin.Effect[core.Phase]{Name: "tell"}
	first.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
		l.note("action")
		return state.Command{}, nil
	})
	tell.Handle(r, func(_ context.Context, _ plugin.HandlerContext, of core.Phase) error {
		l.note("effect of %s", of)
		return nil
	})
	everywhere(r, func(m engine.Moment) (state.Command, error) {
		switch m.Phase {
		case core.PhaseRunStart:
			l.note("run_start")
			return first.Schedule(""), nil
		case core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute:
			l.note("%s %d", m.Phase, m.CallIndex)
		case core.PhaseRunEnd:
			l.note("run_end %s", m.Termination.Type)
		default:
			l.note("%s", m.Phase)
		}
		switch m.Phase {
		case core.PhaseAfterInference, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd:
			return tell.Emit(m.Phase), nil
		}
		return state.Command{}, nil
	})
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		l.note("gate %d", c.CallIndex)
		if string(c.Call.Arguments) == `"ask"` {
			return suspends("ask"), nil
		}
		return plugin.Allow, nil
	})
	return nil
}

func (l *loop) sink(e core.Event) error {
	if slices.Contains(loopEvents, e.Type) {
		l.note("> %s", e.Type)
	}
	return nil
}

// The order of a run, all of it. What a reader is told of a result or an end is told
// behind the write that makes it so.
func TestLoopOrder(t *testing.T) {
	begins := []string{
		"commit: seq 0, running, start []", // the claim
		"> run_start", "run_start", "> step_start", "step_start", "before_inference", "action",
		"> text_delta", "> tool_call_start", "> tool_call_delta", "> tool_call_start", "> tool_call_delta", "> tool_call_ready", "> tool_call_ready",
		"> inference_complete", "after_inference", "commit: seq 2, running, tools [new new]", "effect of after_inference",
	}
	ends := []string{
		"step_end", "commit: seq 4, running, infer []", "effect of after_tool_execute", "> step_end", "effect of step_end",
		"> step_start", "step_start", "before_inference", "> text_delta", "> inference_complete", "after_inference", "step_end",
		"commit: seq 5, closing, infer []", "> step_end", "effect of after_inference", "effect of step_end",
		"run_end natural_end", "commit: seq 5, over", "effect of run_end", "> run_finish",
	}
	decided := []string{
		"a decision", "commit: seq 2, running, tools [done resuming]",
		"gate 1", "before_tool_execute 1", `tool "ask"`, "> tool_call_done", "after_tool_execute 1",
	}
	tests := []struct {
		name   string
		mode   agent.ExecutionMode
		stop   bool
		decide bool
		want   [][]string
	}{
		{"two steps, the first with a call that waits behind another", agent.Sequential, false, true, [][]string{begins, {
			"gate 0", "before_tool_execute 0", `tool "a"`, "> tool_call_done", "after_tool_execute 0", "gate 1",
			"commit: seq 2, waiting, tools [done suspended]", "effect of after_tool_execute", "> tool_call_suspended",
		}, decided, ends}},
		{"the same side by side", agent.ParallelStreaming, false, true, [][]string{begins, {
			"gate 0", "gate 1", "before_tool_execute 0", "commit: seq 2, running, tools [new suspended]", "> tool_call_suspended",
			`tool "a"`, "> tool_call_done", "after_tool_execute 0", "commit: seq 2, waiting, tools [done suspended]", "effect of after_tool_execute",
		}, decided, ends}},
		{"a stop behind the first turn", agent.Sequential, true, false, [][]string{begins, {
			"> tool_call_done", "> tool_call_done", "step_end", "commit: seq 4, closing, infer []", "> step_end", "effect of step_end",
			"run_end stopped", "commit: seq 4, over", "effect of run_end", "> run_finish",
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &loop{}
				o := options{
					mode:    tt.mode,
					model:   replies(append([]model.Delta{say("I ask.")}, calls("look", `"a"`, "look", `"ask"`)...), text("Done.")),
					plugins: []plugin.Plugin{l},
					tools: []tool.Tool{toolFunc{name: "look", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						l.note("tool %s", c.Arguments)
						return tool.NewResult("seen"), nil
					}}},
				}
				if tt.stop {
					o.stop = append(o.stop, stopAtOnce)
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				stands := ""
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					outcome, err := w.store.Backend.Commit(ctx, key, c)
					now := fmt.Sprintf("commit: seq %d, over", c.Head.Seq)
					if c.Head.Open() {
						now = fmt.Sprintf("commit: seq %d, %s, %s %v", c.Head.Seq, c.Head.Run.Status, c.Head.Run.Cursor, c.Head.Run.Calls)
					}
					if now != stands { // later claims say nothing new
						l.note("%s", now)
					}
					stands = now
					return outcome, err
				}
				w.finish(t, key, l.sink)
				if tt.decide {
					l.note("a decision")
					w.mustDecide(t, 1, approve)
					w.finish(t, key, l.sink)
				}
				if diff := cmp.Diff(slices.Concat(tt.want...), l.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
