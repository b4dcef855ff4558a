package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func answerLine(d *core.Decision) string {
	if d == nil {
		return "none"
	}
	return fmt.Sprintf("%q %s %s %s %s", d.ID, d.Action, d.Payload, d.Remember, d.RememberAs)
}

// The plugin that has let a call wait is told of a refusal that is to be remembered, and
// what it makes of that counts with the call's result; of others it is not told.
func TestARefusalThatIsToBeRemembered(t *testing.T) {
	const other, slept = `ok: "other"`, `ok: "slept"`
	const denied = "denied: denied: not today after about-ask"
	const heard = `call 0 take on after "about-ask" resume {"approved":false} run rule, shown ` + `"about-ask" resume {"approved":false} run rule`
	tests := []struct {
		name     string
		remember core.Remember
		fails    error
		taken    bool // by the other call, before the refusal
		heard    []string
		results  []string
		sole     string
		warns    string
		end      string
	}{
		{"for the run", core.RememberRun, nil, false, []string{heard}, []string{denied, other, slept}, "refused", "", `done 2 {"type":"natural_end"} "ok"`},
		{"once", core.RememberOnce, nil, false, nil, []string{denied, other, slept}, "", "", `done 2 {"type":"natural_end"} "ok"`},
		{
			"what it changes does not apply", core.RememberRun, nil, true, []string{heard}, []string{denied, other, slept}, "other",
			"change of a call conflicts with its siblings", `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			"its hook fails", core.RememberRun, errors.New("no memory"), false, []string{heard}, []string{"not_executed: no result: the run was ended first (plugin)", other, slept}, "",
			"run ends with an error", `done 1 {"type":"error","code":"plugin","detail":"refusal of call call_END_1_0: plugin \"guard\" failed"} ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				var told []string
				left := ""
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("take", "{}", "other", "{}", "sleeps", `"9s"`), text("ok")), logger: slog.New(slog.NewTextHandler(&log, nil)),
					tools: []tool.Tool{sleeps, toolFunc{name: "take"}, toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
						result := tool.NewResult("other")
						if tt.taken {
							result.Command = sole.Update("other")
						}
						return result, nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"guard", func(r *plugin.Registrar) {
						r.Key(sole)
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							if c.CallIndex == 0 {
								v = suspends("")
							}
							return v, nil
						})
						r.OnRefusal(func(_ context.Context, c plugin.GateCall) (state.Command, error) {
							told = append(told, fmt.Sprintf("call %d %s on after %s, shown %s", c.CallIndex, c.Call.Name, answerLine(&c.Resume.Decision), answerLine(c.Answer)))
							return sole.Update("refused"), tt.fails
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							left, err = sole.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() { // a sibling's result has come, and another runs
					w.mustDecide(t, 0, core.Decision{ID: "about-ask", Action: deny.Action, Payload: deny.Payload, Reason: deny.Reason, Remember: tt.remember, RememberAs: core.RememberRule})
				})
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.heard, told); diff != "" {
					t.Errorf("what the plugin was told (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(append(tt.results, tt.sole), append(w.results(t), left)); diff != "" {
					t.Errorf("results and the key (-want +got):\n%s", diff)
				}
				if want := strings.ReplaceAll(tt.end, "END", receipt.RunID.String()[24:]); w.end(t, key, receipt) != want {
					t.Errorf("the run is %s, want %s", w.end(t, key, receipt), want)
				}
				if got := strings.Count(log.String(), "level=WARN"); got != min(1, len(tt.warns)) || !strings.Contains(log.String(), tt.warns) {
					t.Errorf("the log has %d warnings, want %q:\n%s", got, tt.warns, &log)
				}
			})
		})
	}
}

// A gate is shown what was decided about its own suspension each time that it is asked again:
// how long the decision holds also when another gate has asked since, and nothing else of it.
func TestAGateIsShownWhatWasDecidedBeforeAnotherAsked(t *testing.T) {
	tests := []struct {
		name     string
		remember core.Remember
		want     []string
	}{
		{"to be remembered", core.RememberThread, []string{
			"first: none", "second: none", "third: none", `first: "about-first" resume 1 thread rule`, "second: none", "third: none",
			`first: "" resume  thread rule`, `second: "about-second" resume 2 thread rule`, "third: none",
			`first: "" resume  thread rule`, `second: "" resume  thread rule`, `third: "about-third" resume 3 thread rule`,
		}},
		{"for the call", "", []string{
			"first: none", "second: none", "third: none", `first: "about-first" resume 1  `, "second: none", "third: none",
			`first: "" resume   `, `second: "about-second" resume 2  `, "third: none",
			`first: "" resume   `, `second: "" resume   `, `third: "about-third" resume 3  `,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				asks := func(id string) plugin.Plugin {
					return pluginFunc{id, func(r *plugin.Registrar) {
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							shown = append(shown, id+": "+answerLine(c.Answer))
							if c.Answer == nil {
								v = suspends("")
							}
							return v, nil
						})
					}}
				}
				w := newWorld(t, options{plugins: []plugin.Plugin{asks("first"), asks("second"), asks("third")}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				for i, id := range []string{"first", "second", "third"} {
					d := core.Decision{ID: "about-" + id, Action: core.DecisionResume, Payload: fmt.Append(nil, i+1), Remember: tt.remember}
					if tt.remember != "" {
						d.RememberAs = core.RememberRule
					}
					w.mustDecide(t, 0, d)
					w.finish(t, key, nil)
				}
				if diff := cmp.Diff(tt.want, shown); diff != "" {
					t.Errorf("what gates were shown (-want +got):\n%s", diff)
				}
				kept, err := w.store.Backend.Records(t.Context(), key, "C#", "", 100)
				answers := 0
				for _, r := range kept {
					answers += strings.Count(string(r.Payload), `"answers":`)
				}
				if want := map[bool]int{true: 2}[tt.remember != ""]; answers != want || err != nil {
					t.Errorf("%d records keep answers, want %d; %v", answers, want, err)
				}
				if diff := cmp.Diff([]string{`ok: {"text":"a"} after about-third`}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// While a decision of a round is missing, in which all are waited for together, a call that
// was refused comes to its result no sooner than one that may go on.
func TestARefusalWaitsForTheOtherDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelBatchApproval, model: replies(calls("ask", "{}", "ask", "{}", "sleeps", `"9s"`), text("ok")),
			tools: []tool.Tool{sleeps, toolFunc{name: "ask", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("asked"), nil }}}, plugins: []plugin.Plugin{asking("ask")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { w.mustDecide(t, 0, deny) })
		time.AfterFunc(5*time.Second, func() {
			if got := w.stands(t); got != "running [cancelling suspended new]" {
				t.Errorf("the run is %s", got)
			}
			w.mustDecide(t, 1, approve)
		})
		began := time.Now()
		var told []string
		w.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				told = append(told, fmt.Sprint(e.Status, " after ", time.Since(began)))
			}
			return nil
		})
		if diff := cmp.Diff([]string{"denied after 6s", "ok after 6s", "ok after 9s"}, told); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}
