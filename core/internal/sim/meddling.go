package sim

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// interfere has people decide what the end of a child run decides, and speak while it works.
func (pe *people) interfere(th *threadState, k *asked) {
	if pe.w.random.chance(0.5) {
		d := pe.decision(k)
		pe.plan(pe.w.random.between(0, 20*time.Second), func() { pe.decide(th, k, d) })
	}
	chance, within := 0.4, 15*time.Second
	if pe.mixed() { // people are asked too, and may have answered later
		chance, within = 0.95, 8*time.Second
	}
	if !pe.w.config.People.Calm && pe.w.random.chance(chance) {
		pe.plan(pe.w.random.between(0, within), func() { pe.steer(th) })
	}
}

// checkMeddled: only the child decides on a call that waits for one, and any other client
// learns why it cannot.
func (as *asks) checkMeddled(k *asked, before *thread.Head, err error) {
	stands := func(h *thread.Head) bool {
		return h.Run.ID == k.run && slices.ContainsFunc(h.Tickets, func(t thread.Ticket) bool { return t.ID == k.key && t.Decision == 0 })
	}
	switch code := core.CodeOf(err); {
	case code == core.CodeChild:
		as.th.w.did(ChildRefused)
	case stands(before) && stands(&as.th.p.head):
		as.th.fail("a decision on call %s, which waits for a child, returns %v", k.ticket.CallID, err)
	}
}

// checkSpoken looks at a person's message to a run that waits: it supersedes the questions to
// people and clients and the timers that are not kept, and changes nothing where the run waits
// only for child runs and kept timers.
func (as *asks) checkSpoken(a, b *thread.Head) {
	if a.Run.ID != b.Run.ID || a.Run.Status != thread.Waiting || len(b.Inbox) != len(a.Inbox)+1 || b.Inbox[len(a.Inbox)].Kind != thread.InboxPerson {
		return
	}
	stays := func(t thread.Ticket) bool { return (t.Kind == thread.TicketChild || t.Keep) && t.Decision == 0 }
	child := func(t thread.Ticket) bool { return stays(t) && t.Kind == thread.TicketChild }
	asks := func(t thread.Ticket) bool { return !stays(t) && t.Decision == 0 }
	if !slices.ContainsFunc(a.Tickets, stays) {
		return
	}
	for _, t := range a.Tickets {
		if stays(t) && (!slices.Contains(b.Tickets, t) || b.Run.Calls[t.Call] != thread.CallSuspended) {
			as.th.fail("after a person's input, call %d no longer waits for its child or its time: %+v", t.Call, *b)
		}
	}
	children := slices.ContainsFunc(a.Tickets, child)
	if slices.ContainsFunc(a.Tickets, func(t thread.Ticket) bool { return stays(t) && t.Keep }) {
		as.th.w.did(KeptTimer)
	}
	if slices.ContainsFunc(a.Tickets, asks) {
		if children {
			as.th.w.did(SpokenInMixedWait)
		}
		if b.Run.Status != thread.Running || slices.ContainsFunc(b.Tickets, asks) {
			as.th.fail("after a person's input, a ticket for people is still open: %+v", *b)
		}
		return
	}
	if children {
		as.th.w.did(SpokenBesideChild)
	}
	if b.Run.Status != thread.Waiting || !slices.Equal(a.Run.Calls, b.Run.Calls) || !slices.Equal(a.Tickets, b.Tickets) {
		as.th.fail("a person's input to a run that waits only for child runs and kept timers changed it from %+v to %+v", *a, *b)
	}
}

// mixed reports whether calls wait for people and for child runs.
func (pe *people) mixed() bool { return pe.w.config.Agents.Children && pe.w.config.People.Asks }

// mixedNames are the tools that a model calls in a world with Children and Asks, on a
// thread without a parent.
var mixedNames = []string{"child", "childresult", "child", "ask", "guard", "ask", "guard", "approve", "echo", "note"}
