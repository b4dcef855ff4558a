package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A suspension that does not say for whom it waits, or how the call goes on, waits for a
// person, and the call is made again; the head knows clients and child runs beside persons.
func TestWhatATicketSaysThatItsSuspensionDoesNot(t *testing.T) {
	tests := []struct {
		kind   core.TicketKind
		mode   core.ResumeMode
		told   string
		inHead thread.TicketKind
	}{
		{"", "", "person replay_tool_call", thread.TicketPerson},
		{core.TicketPerson, core.ResumeAsResult, "person use_decision_as_tool_result", thread.TicketPerson},
		{core.TicketClient, "", "client replay_tool_call", thread.TicketClient},
		{core.TicketChild, core.ResumeAsResult, "child use_decision_as_tool_result", thread.TicketChild},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.kind, " ", tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
					v := suspends("ask")
					v.Suspend.Kind, v.Suspend.Mode = tt.kind, tt.mode
					return v, nil
				})}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				told := ""
				w.finish(t, key, func(e core.Event) error {
					if e.Ticket != nil {
						told += fmt.Sprint(e.Ticket.Kind, " ", e.Ticket.Mode)
					}
					return nil
				})
				head := w.head(t, key)
				var stored thread.TicketRecord
				name := recordname.Suspension(head.Run.ID, head.Run.Base-1, 0, head.Tickets[0].ID)
				if err := (thread.Records{}).Decode("ticket", w.record(t, name).Payload, &stored); err != nil {
					t.Fatal(err)
				}
				got := []string{told, fmt.Sprint(stored.Kind, " ", stored.Mode), fmt.Sprint(head.Tickets[0].Kind)}
				if diff := cmp.Diff([]string{tt.told, tt.told, fmt.Sprint(tt.inHead)}, got); diff != "" {
					t.Errorf("told, stored and in the head (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A step that wants to wait, and meets a decision, stores what the round has come to, and
// nothing that says that the run waits.
func TestAWaitThatADecisionForestallsStoresTheRoundAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("ask", "{}", "nap", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("ask", false, new(int)), nap}, plugins: []plugin.Plugin{asking("ask")},
		})
		id := w.submit(t, key, "hi", mailbox.ModeQueue).RunID
		var wrote []string
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if c.Head.Run.Status == thread.Waiting && !strings.Contains(fmt.Sprint(c.Head.Run.Calls), "resuming") && wrote == nil {
				wrote = []string{}
				w.mustDecide(t, 0, approve)
			} else if wrote != nil {
				line := fmt.Sprint(c.Head.Run.Status, " ", c.Head.Run.Calls)
				for _, r := range c.Records {
					name := strings.Replace(r.Name, id.String(), "RUN", 1)
					line += " " + name[:strings.LastIndex(name, "#")] // without the key, or the version
				}
				wrote = append(wrote, line)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.step(t, key)
		want := []string{"running [resuming new] D#RUN#2#0", "running [resuming done] C#RUN#round"}
		if diff := cmp.Diff(want, wrote); diff != "" {
			t.Errorf("writes behind the decision (-want +got):\n%s", diff)
		}
	})
}

// A round goes on as its head says also under an agent that now runs its calls one after the
// other: a call that is refused ends, though one before it waits.
func TestARefusedCallEndsWhileOneBeforeItWaits(t *testing.T) {
	for name, d := range map[string]core.Decision{"approved": approve, "denied": deny, "cancelled": cancels} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				o := options{
					model: replies(calls("act", `{"n":0}`, "act", `{"n":1}`), text("ok")), mode: agent.ParallelStreaming,
					tools: []tool.Tool{noted("act", &did, nil)}, plugins: []plugin.Plugin{asking("act")},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				o.mode = agent.Sequential
				w.stepper = w.other(t, o)
				w.mustDecide(t, 1, d)
				w.finish(t, key, nil)
				if got := w.stands(t); got != "waiting [suspended done]" {
					t.Errorf("the round is %s", got)
				}
			})
		})
	}
}

// A result that was stored and cannot be read again leaves its call one that may have run,
// where the run ends in the step that ran its tool, and one that has not where there is none.
func TestAResultThatIsDamagedBeforeTheEndIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal := toolFunc{name: "fatal", run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			return tool.Result{}, tool.Fatal(errors.New("no disk"))
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("fatal", "{}", "count", "{}", "none", "{}")),
			tools: []tool.Tool{fatal, counted("count", false, new(int))},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.spoiled = []string{store.LogName(4), store.LogName(5)}
		w.step(t, key)
		w.store.spoiled = nil
		want := []string{
			"error: execution failed: the tool ended the run", "unknown: outcome unknown: the run was ended while the tool may have run",
			"not_executed: no result: the run was ended first (tool)",
		}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}
