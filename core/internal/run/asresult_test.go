package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A decision that is the result has the limits of a tool's.
func TestHowLargeADecisionMayBeThatIsTheResult(t *testing.T) {
	for bytes, want := range map[int]string{
		0:                      "set: null after about-ask",
		toolcall.MaxResult:     fmt.Sprintf("set: %q after about-ask", strings.Repeat("x", toolcall.MaxResult-2)),
		toolcall.MaxResult + 1: "error: the decision cannot be the result: " + toolcall.ErrResultTooLarge.Error() + " after about-ask",
	} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
					v := suspends("ask")
					v.Suspend.Mode = core.ResumeAsResult
					return v, nil
				})}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				d := core.Decision{Action: core.DecisionResume}
				if bytes > 0 {
					d.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", bytes-2))
				}
				w.mustDecide(t, 0, d)
				w.finish(t, key, nil)
				if got := w.results(t); len(got) != 1 || got[0] != want {
					t.Errorf("the results are %.200q, want %.200q", got, want)
				}
			})
		})
	}
}

// What gates changed for a call, whose decision is its result, is applied as it is over what
// siblings have made of it: no gate is asked again.
func TestWhatGatesChangedForADecidedCallStandsOverItsSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var last []string
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("other", "{}", "take", "{}", "sleeps", `"9s"`), text("ok")),
			tools: []tool.Tool{sleeps, toolFunc{name: "take"}, toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.NewResult("other").With(seenBy.Update([]string{"other"})), nil
			}}},
			plugins: []plugin.Plugin{pluginFunc{"guard", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					if c.CallIndex == 1 {
						asked++
						v = plugin.Suspend(core.TicketRequest{Mode: core.ResumeAsResult}).With(seenBy.Update([]string{fmt.Sprint("gate ", asked)}))
					}
					return v, nil
				})
				r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
					if c.Step == 1 {
						last, err = seenBy.Read(c.Snapshot)
					}
					return state.Command{}, err
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { // a sibling's result has come, and another runs
			w.mustDecide(t, 1, core.Decision{ID: "about-ask", Action: core.DecisionResume, Payload: []byte("1")})
		})
		w.finish(t, key, nil)
		want := []string{`ok: "other"`, "set: 1 after about-ask", `ok: "slept"`, "gate 1"}
		if diff := cmp.Diff(want, append(w.results(t), last...)); diff != "" || asked != 1 {
			t.Errorf("after %d questions, results and the list (-want +got):\n%s", asked, diff)
		}
	})
}
