package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// callsOf are the calls of a run's first step.
func callsOf(t *testing.T, p *host.Host, run core.ID) []host.StepCall {
	t.Helper()
	page, err := p.Steps(t.Context(), core.Identity{Tenant: "acme"}, run, host.StepQuery{})
	if err != nil || len(page.Steps) == 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	return page.Steps[0].Calls
}

// A step says of its calls how they waited: since when, what was decided, with which arguments
// they run instead of the model's, and since when they continued.
func TestAStepHasTheWaitsOfItsCalls(t *testing.T) {
	const model, edited = `{"order":"4711","amount":89}`, `{"order":"4711","amount":49}`
	for _, tt := range []struct {
		name     string
		decision core.Decision
		open     host.CallWait // before the run continues
		status   string
		want     host.CallWait
	}{
		{"approved", core.Decision{Action: core.DecisionResume}, host.CallWait{Action: core.DecisionResume}, "ok", host.CallWait{Action: core.DecisionResume}},
		{"edited", core.Decision{Action: core.DecisionResume, Arguments: json.RawMessage(edited)},
			host.CallWait{Action: core.DecisionResume, Edited: json.RawMessage(edited)}, "ok", host.CallWait{Action: core.DecisionResume, Edited: json.RawMessage(edited)}},
		{"in the words of the clock", core.Decision{ID: "mine", Action: core.DecisionResume, Payload: json.RawMessage(`{"woken":"time"}`)},
			host.CallWait{Action: core.DecisionResume}, "ok", host.CallWait{Action: core.DecisionResume}},
		{"denied", core.Decision{Action: core.DecisionCancel, Reason: "not now"},
			host.CallWait{Action: core.DecisionCancel, Reason: "not now"}, "denied", host.CallWait{Action: core.DecisionCancel, Reason: "not now"}},
		{"denied by the payload", core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":false}`)},
			host.CallWait{Action: core.DecisionCancel}, "denied", host.CallWait{Action: core.DecisionCancel}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var did []string
			p := refunding(t, &did)
			receipt := ask(t, p, "acme", "a", "", "refund "+model)
			waits := callsOf(t, p, receipt.RunID)[0]
			asked := waits.Wait.Asked
			if diff := cmp.Diff(host.CallWait{Asked: asked}, waits.Wait); diff != "" || asked == 0 || waits.Status != "suspended" {
				t.Errorf("it is %s since %d, want suspended since its question (-want +got):\n%s", waits.Status, asked, diff)
			}
			if _, err := p.Decide(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID, mailbox.Deciding{Target: waits.ID, Decision: tt.decision}); err != nil {
				t.Fatal(err)
			}
			tt.open.Asked = asked
			if diff := cmp.Diff(tt.open, callsOf(t, p, receipt.RunID)[0].Wait); diff != "" {
				t.Errorf("decided (-want +got):\n%s", diff)
			}
			settle(t, p)
			done := callsOf(t, p, receipt.RunID)[0]
			if done.Status != tt.status || string(done.Arguments) != model || done.Wait.Answered < asked {
				t.Errorf("the call is %s with the model's arguments %s, continued at %d, asked at %d", done.Status, done.Arguments, done.Wait.Answered, asked)
			}
			tt.want.Asked, tt.want.Answered = asked, done.Wait.Answered
			if diff := cmp.Diff(tt.want, done.Wait); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}

// naps adds a tool that waits for an hour, and then says who has woken it.
func naps(c *host.Options) {
	c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: "nap"}, func(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
		switch {
		case call.Resume == nil:
			return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour)}), nil
		case call.Resume.Decision.Woken():
			return tool.NewResult("the clock"), nil
		}
		return tool.NewResult("a person"), nil
	}))
}

// A step says of a call that waits for a time when it continues, and then whether the clock or
// a person was first.
func TestAStepHasTheTimersOfItsCalls(t *testing.T) {
	const asked, at = 946684800000, 946688400000 // 2000-01-01T00:00:00Z, an hour later
	for _, tt := range []struct {
		name     string
		after    time.Duration
		decision core.Decision // without an action: none
		open     host.CallWait // before the run continues
		status   string
		want     host.CallWait
	}{
		{"the clock", time.Hour, core.Decision{}, host.CallWait{Asked: asked, WakeAt: at}, "ok",
			host.CallWait{Asked: asked, Answered: at, Action: core.DecisionResume, WakeAt: at, Woken: true}},
		{"a person", time.Minute, core.Decision{Action: core.DecisionResume}, host.CallWait{Asked: asked, Action: core.DecisionResume, WakeAt: at, User: "ann"}, "ok",
			host.CallWait{Asked: asked, Answered: asked + 60_000, Action: core.DecisionResume, WakeAt: at, User: "ann"}},
		{"a person cancels", time.Minute, core.Decision{Action: core.DecisionCancel, Reason: "too late"}, host.CallWait{Asked: asked, Action: core.DecisionCancel, Reason: "too late", WakeAt: at, User: "ann"}, "cancelled",
			host.CallWait{Asked: asked, Answered: asked + 60_000, Action: core.DecisionCancel, Reason: "too late", WakeAt: at, User: "ann"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := confirming(t, nil, naps)
				receipt := ask(t, p, "acme", "a", "", "nap {}")
				waits := callsOf(t, p, receipt.RunID)[0]
				if diff := cmp.Diff(host.CallWait{Asked: asked, WakeAt: at}, waits.Wait); diff != "" || waits.Status != "suspended" {
					t.Errorf("it is %s, want suspended (-want +got):\n%s", waits.Status, diff)
				}
				if list := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items; len(list) != 0 {
					t.Errorf("%d approvals, want none", len(list))
				}
				time.Sleep(tt.after)
				if tt.decision.Action != "" {
					if _, err := p.Decide(t.Context(), core.Identity{Tenant: "acme", User: "ann"}, receipt.RunID, mailbox.Deciding{Target: waits.ID, Decision: tt.decision}); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(tt.open, callsOf(t, p, receipt.RunID)[0].Wait); diff != "" {
					t.Errorf("before it continues (-want +got):\n%s", diff)
				}
				settle(t, p)
				done := callsOf(t, p, receipt.RunID)[0]
				if diff := cmp.Diff(tt.want, done.Wait); diff != "" || done.Status != tt.status {
					t.Errorf("it is %s, want %s (-want +got):\n%s", done.Status, tt.status, diff)
				}
			})
		})
	}
}

// Next to a question only the question is an approval.
func TestATimerIsNoApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := confirming(t, nil, func(c *host.Options) {
			c.Agents.Specs[0].ExecutionMode = agent.ParallelStreaming // sequential calls wait for each other
			c.Agents.Tools = []tool.Tool{tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
				if a.Text == "nap" {
					return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour)}), nil
				}
				return tool.Suspended(core.TicketRequest{Message: a.Text}), nil
			})}
		})
		say(t, p, "acme", "a", "", "parallel: nap, one")
		for _, kind := range []core.TicketKind{"", core.TicketPerson} {
			if diff := cmp.Diff([]string{"a: one"}, messages(approvals(t, p, "acme", "", host.ApprovalQuery{Kind: kind}))); diff != "" {
				t.Errorf("kind %q (-want +got):\n%s", kind, diff)
			}
		}
	})
}

// A call that did not wait says nothing of a wait.
func TestACallThatDidNotWait(t *testing.T) {
	p := confirming(t, nil)
	receipt := ask(t, p, "acme", "a", "", `echo {"text":"x"}`)
	if got := callsOf(t, p, receipt.RunID)[0].Wait; !cmp.Equal(got, host.CallWait{}) {
		t.Errorf("%+v", got)
	}
}

// The list names thread and run, and is narrowed to a kind or an agent: a thread that is
// excluded takes no place on a page.
func TestApprovalsAreNamedAndFiltered(t *testing.T) { synctest.Test(t, approvalsAreNamedAndFiltered) }

func approvalsAreNamedAndFiltered(t *testing.T) {
	p := confirming(t, nil)
	ask(t, p, "acme", "a", "", `confirm {"text":"one"}`)
	ask(t, p, "acme", "b", "", `where {}`)
	ask(t, p, "acme", "c", "", `echo {"text":"done"}`)
	// A thread is named after the run with the lowest id. Ids of one millisecond have no order.
	time.Sleep(2 * time.Millisecond)
	ask(t, p, "acme", "c", "", `confirm {"text":"two"}`)
	for range 4 {
		if err := p.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}); err != nil {
			t.Fatal(err)
		}
	}
	title := "Boots"
	if _, err := p.UpdateThread(t.Context(), core.Identity{Tenant: "acme"}, "b", host.ThreadChange{Title: &title}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q    host.ApprovalQuery
		want []string
	}{
		{host.ApprovalQuery{}, []string{
			`call: confirm {"text":"one"} | call: confirm {"text":"one"}`, `Boots | call: where {}`, `call: echo {"text":"done"} | call: confirm {"text":"two"}`,
		}},
		{host.ApprovalQuery{Kind: core.TicketClient}, []string{`Boots | call: where {}`}},
		{host.ApprovalQuery{Kind: core.TicketPerson, Agent: "demo"}, []string{
			`call: confirm {"text":"one"} | call: confirm {"text":"one"}`, `call: echo {"text":"done"} | call: confirm {"text":"two"}`,
		}},
		{host.ApprovalQuery{Agent: "other"}, nil},
	} {
		for _, limit := range []int{0, 1} {
			var got []string
			for tt.q.Limit, tt.q.After = limit, ""; ; {
				page := approvals(t, p, "acme", "", tt.q)
				for _, a := range page.Items {
					got = append(got, a.ThreadTitle+" | "+a.Asked)
				}
				if tt.q.After = page.Next; page.Next == "" {
					break
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tt.q, diff)
			}
		}
	}
	if _, err := p.Approvals(t.Context(), core.Identity{Tenant: "acme"}, host.ApprovalQuery{Kind: core.TicketChild}); core.CodeOf(err) != core.CodeInvalid ||
		err.Error() != `kind "child" is unknown, allowed are person, client` {
		t.Errorf("another kind: %v", err)
	}
}
