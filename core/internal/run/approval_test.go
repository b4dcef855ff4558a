package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// pays is a tool that a person must approve. It notes each of its executions.
func pays(did *[]string, runs func(c tool.Call) tool.Result) tool.Tool {
	return toolFunc{name: "pay", approval: "Pay the bill?", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		*did = append(*did, "pay runs")
		return runs(c), nil
	}}
}

func paid(tool.Call) tool.Result { return tool.NewResult("paid") }

// paying are the options of a run that calls pay once. What happens to the call goes to did.
func paying(did *[]string, runs func(c tool.Call) tool.Result, plugins ...plugin.Plugin) options {
	before := pluginFunc{"before", func(r *plugin.Registrar) { r.OnBeforeTool(notes(did)) }}
	return options{model: replies(calls("pay", "{}"), text("ok")), tools: []tool.Tool{pays(did, runs)}, plugins: append(plugins, before)}
}

// A call of a tool with an approval waits before any hook of BeforeToolExecute has run,
// and its tool runs once, when a person has approved it.
func TestAToolWithAnApprovalWaitsForAPerson(t *testing.T) {
	const about = " after about-RUN.1.0.reveille.approval"
	for _, mode := range modes {
		for _, tt := range []struct {
			name     string
			decision core.Decision
			did      []string
			result   string
		}{
			{"approved", approve, []string{"pay {}", "pay runs"}, `ok: "paid"` + about},
			{"denied", deny, nil, "denied: denied: not today" + about},
			{"cancelled", cancels, nil, "denied: denied: too late" + about},
		} {
			t.Run(fmt.Sprint(mode, " ", tt.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var did []string
					o := paying(&did, paid)
					o.mode = mode
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
					if len(did) > 0 || w.stands(t) != "waiting [suspended]" {
						t.Errorf("the round is %s, and before the decision happened %q", w.stands(t), did)
					}
					w.mustDecide(t, 0, tt.decision)
					w.finish(t, key, nil)
					if diff := cmp.Diff(tt.did, did); diff != "" {
						t.Errorf("what happened (-want +got):\n%s", diff)
					}
					got := strings.ReplaceAll(strings.Join(w.results(t), "\n"), receipt.RunID.String(), "RUN")
					if diff := cmp.Diff(tt.result, got); diff != "" {
						t.Errorf("result (-want +got):\n%s", diff)
					}
					if end := w.end(t, key, receipt); end != `done 2 {"type":"natural_end"} "ok"` {
						t.Errorf("the run is %s", end)
					}
				})
			})
		}
	}
}

// The question is a request for permission that names the call, under an id of its own.
func TestTheTicketOfAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		var asked *core.Ticket
		w := newWorld(t, paying(&did, paid))
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventToolCallSuspended {
				asked = e.Ticket
			}
			return nil
		})
		if asked == nil {
			t.Fatal("no ticket is announced")
		}
		want := core.Suspension{
			ID: receipt.RunID.String() + ".1.0.reveille.approval", Action: "tool:PermissionConfirm", Message: "Pay the bill?",
			Parameters: json.RawMessage(`{"tool":"pay","arguments":{}}`),
		}
		if diff := cmp.Diff(want, asked.Suspension); diff != "" || !asked.AsksPermission() {
			t.Errorf("mode %s, kind %s (-want +got):\n%s", asked.Mode, asked.Kind, diff)
		}
	})
}

// The approval is one gate among others: a plugin's block is above it, a plugin's question
// follows it, and so does that of the tool itself.
func TestAnApprovalAmongOtherGates(t *testing.T) {
	asksItself := func(c tool.Call) tool.Result {
		if c.Resume.Suspension != "own" {
			return tool.Suspended(core.TicketRequest{ID: "own"})
		}
		return tool.NewResult("paid")
	}
	for _, tt := range []struct {
		name    string
		runs    func(tool.Call) tool.Result
		verdict plugin.Verdict
		tickets int // that are decided, one after the other
		did     []string
		result  string
	}{
		{"alone", paid, plugin.Allow, 1, []string{"pay {}", "pay runs"}, `ok: "paid"`},
		{"blocked", paid, plugin.Block("no"), 0, nil, "blocked: blocked: no"},
		{"a result is given", paid, gives("1"), 1, nil, "set: 1"},
		{"a plugin asks", paid, suspends("theirs"), 2, []string{"pay {}", "pay runs"}, `ok: "paid"`},
		{"the tool asks", asksItself, plugin.Allow, 2, []string{"pay {}", "pay runs", "pay {}", "pay runs"}, `ok: "paid"`},
		{"all ask", asksItself, suspends("theirs"), 3, []string{"pay {}", "pay runs", "pay {}", "pay runs"}, `ok: "paid"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := newWorld(t, paying(&did, tt.runs, gating("gate", "pay", tt.verdict)))
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				for range tt.tickets {
					w.mustDecide(t, 0, approve)
					w.finish(t, key, nil)
				}
				if diff := cmp.Diff(tt.did, did); diff != "" {
					t.Errorf("what happened (-want +got):\n%s", diff)
				}
				result, _, _ := strings.Cut(strings.Join(w.results(t), "\n"), " after about-")
				if diff := cmp.Diff(tt.result, result); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An answer that is to be remembered is kept with the call's result, whoever gives it: the
// next call of the run asks nothing.
func TestAnApprovalIsRemembered(t *testing.T) {
	for _, mode := range modes {
		for _, tt := range []struct {
			name     string
			decision core.Decision
			results  []string
		}{
			{"approved", core.Decision{Action: core.DecisionResume, Remember: core.RememberRun}, []string{`ok: "paid"`, `ok: "paid"`}},
			{
				"denied", core.Decision{Action: core.DecisionCancel, Reason: "never", Remember: core.RememberThread, RememberAs: core.RememberRule},
				[]string{"denied: denied: never", "denied: denied: a person has denied such calls of pay"},
			},
		} {
			t.Run(fmt.Sprint(mode, " ", tt.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var did []string
					o := paying(&did, paid)
					o.mode, o.model = mode, replies(calls("pay", "{}"), calls("pay", "{}"), text("ok"))
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
					w.mustDecide(t, 0, tt.decision)
					w.finish(t, key, nil)
					var results []string
					for _, line := range w.results(t) {
						line, _, _ = strings.Cut(line, " after about-")
						results = append(results, line)
					}
					if diff := cmp.Diff(tt.results, results); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					if end := w.end(t, key, receipt); end != `done 3 {"type":"natural_end"} "ok"` {
						t.Errorf("the run is %s", end)
					}
				})
			})
		}
	}
}
