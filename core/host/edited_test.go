package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// refunding is a process whose tool refund asks a person, and notes what it refunds.
func refunding(t *testing.T, did *[]string) *host.Host {
	t.Helper()
	type order struct {
		Order  string `json:"order"`
		Amount int    `json:"amount"`
	}
	refund := tool.New(tool.Spec{Name: "refund", Approval: "May it refund?"}, func(_ context.Context, _ tool.Call, o order) (tool.Result, error) {
		*did = append(*did, fmt.Sprint(o.Order, " ", o.Amount))
		return tool.NewResult("refunded"), nil
	})
	r := newRig(t)
	return r.process("w", r.store, func(c *host.Options) { c.Agents.Tools = append(c.Agents.Tools, refund) })
}

// settle works on thread a until its runs have ended or wait.
func settle(t *testing.T, p *host.Host) {
	t.Helper()
	for range 4 {
		if err := p.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "a"}); err != nil {
			t.Fatal(err)
		}
	}
}

// Arguments that the tool would refuse are refused when they are sent: the error names the
// field, and the ticket stays open. Others run.
func TestEditedArgumentsAreCheckedWhenTheyAreSent(t *testing.T) {
	var did []string
	p := refunding(t, &did)
	receipt := ask(t, p, "acme", "a", "", `refund {"order":"4711","amount":89}`)
	id := core.Identity{Tenant: "acme"}
	decide := func(arguments string) error {
		open := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items
		if len(open) != 1 {
			t.Fatalf("%d tickets are open, want 1", len(open))
		}
		_, err := p.Decide(t.Context(), id, receipt.RunID, mailbox.Deciding{
			Target: open[0].Ticket.CallID, Decision: core.Decision{Action: core.DecisionResume, Arguments: json.RawMessage(arguments)},
		})
		return err
	}
	for _, tt := range []struct{ arguments, want string }{
		{`{"order":"4711","amount":"49"}`, `arguments: property "amount": got string, want integer`},
		{`{"order":"4711"}`, `arguments: property "amount" is missing`},
		{`{"order":"4711","amount":49,"to":"me"}`, `arguments: property "to" is unknown`},
	} {
		if err := decide(tt.arguments); core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
			t.Errorf("%s: %v of code %q, want %s", tt.arguments, err, core.CodeOf(err), tt.want)
		}
	}
	if err := decide(`{"order":"4711","amount":49}`); err != nil {
		t.Fatal(err)
	}
	settle(t, p)
	if diff := cmp.Diff([]string{"4711 49"}, did); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
}

// An answer that is to be remembered for the same arguments covers those that ran.
func TestARememberedAnswerCoversTheEditedArguments(t *testing.T) {
	var did []string
	p := refunding(t, &did)
	receipt := ask(t, p, "acme", "a", "", `refund {"order":"4711","amount":89}`)
	open := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items
	if _, err := p.Decide(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID, mailbox.Deciding{
		Target: open[0].Ticket.CallID,
		Decision: core.Decision{
			Action: core.DecisionResume, Arguments: json.RawMessage(`{"order":"4711","amount":49}`), Remember: core.RememberThread,
		},
	}); err != nil {
		t.Fatal(err)
	}
	settle(t, p)
	ask(t, p, "acme", "a", "", `refund {"order":"4711","amount":49}`)
	settle(t, p)
	if open := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items; len(open) != 0 || len(did) != 2 {
		t.Errorf("%d tickets are open after %q, want none after two refunds", len(open), did)
	}
	ask(t, p, "acme", "a", "", `refund {"order":"4711","amount":89}`)
	settle(t, p)
	if open := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items; len(open) != 1 || len(did) != 2 {
		t.Errorf("%d tickets are open after %q, want one for the model's arguments", len(open), did)
	}
}
