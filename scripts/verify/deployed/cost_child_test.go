//go:build aws

package deployed

import (
	"testing"

	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
	"github.com/reveille-run/reveille/scripts/verify/deployed/wire"
)

// delegateTool is the only tool of the agent wire.Delegator.
const delegateTool = "agent_run_" + wire.Helper

// delegated measures runs of a call that another agent does: the step that starts the child run
// and waits for it, the child's run of one text with the notice to its parent, and the step that
// continues with its end.
func (k *bookkeeper) delegated(t *testing.T, f *cost.Figures) {
	const thread = "t6"
	parts := []struct {
		name    string
		tickets int  // of the parent, after the part
		ready   bool // the parent has work then
	}{{cost.Delegate, 1, false}, {cost.Child, 1, true}, {cost.ChildEnd, 0, true}}
	all := map[string][]cost.Work{}
	for i := range cost.Runs + 1 {
		k.measure(t, func() { // it is over when that of the step begins
			k.sayTo(t, wire.Delegator, k.door(t, "RestApi"), thread) // the other API does not have the agent
			k.settled(t)
		})
		for _, part := range parts {
			w := k.measure(t, func() { k.poll(t) })
			if h := k.head(t, thread); len(h.Tickets) != part.tickets || h.Ready() != part.ready {
				t.Fatalf("the head after the part %q: %+v; want %d tickets, ready: %t", part.name, h, part.tickets, part.ready)
			}
			if i > 0 { // the agents are new to the process
				all[part.name] = append(all[part.name], w)
			}
		}
		k.poll(t)
		if h := k.head(t, thread); h.Open() || h.Ready() {
			t.Fatalf("the run is not done: %+v", h)
		}
	}
	for name, w := range all {
		f.Work[name] = median(w)
	}
}
