package sim

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Child runs start others, three levels deep; some turns start twelve. Whatever ends a run ends
// those below it, but for the detached ones.

const (
	// deepest is the depth of the runs that start no others.
	deepest = 3
	// fanned is how many children some turns start.
	fanned = 12
)

// fans reports whether the turn starts many children.
func (s script) fans(w *World) bool {
	return w.config.Agents.Children && s.step == 0 && trait(s.name, 90, 12) == 0 && w.threadOf(s.name).depth == 0
}

// starts reports whether the call of the name, of a child run, starts another.
func (sc scripted) starts(s script, name string) bool {
	depth := sc.w.threadOf(s.name).depth
	return sc.w.config.Agents.Children && depth > 0 && depth < deepest && trait(name, 91, 4) == 0
}

// detaches reports whether the child of a call continues after its parent.
func detaches(key string) bool { return trait(key, 92, 6) == 0 }

// checkStarted: a child that was just started is listed by the run that waits for it, unless
// that run has ended, or has been told of the child's end. A worker that has lost its claim may start
// it when the call has its result: then the child cancels itself.
func (as *asks) checkStarted(c *child, run core.ID) {
	head := &as.th.p.head
	if head.Deleted || head.Run.ID != c.call.Run || head.Run.Status == thread.Closing || slices.Contains(head.Run.Children, run) {
		return
	}
	if !c.aside && !head.Run.Awaits(uint8(c.call.Index)) {
		return
	}
	if _, live := c.th.p.head.RunStatus(run); live {
		as.th.fail("run %s is started and not listed: %+v", run, *head)
	}
}

// checkLeft: a run that is over owes a cancel to each child that was listed.
func (th *threadState) checkLeft(a, b *thread.Head) {
	if len(b.Run.Children) > thread.MaxChildren {
		th.fail("%d children are open", len(b.Run.Children))
	}
	if a.Run.ID == b.Run.ID || len(a.Run.Children) == 0 {
		return
	}
	th.w.did(LeftChildren)
	for _, run := range a.Run.Children {
		if c := th.w.family.byRun[run]; c != nil && detaches(c.call.Key()) {
			th.w.did(Detached)
		}
	}
	i := slices.IndexFunc(b.Outbox, func(e thread.OutboxEntry) bool { return e.Kind == thread.OutboxCancel })
	if i < 0 {
		th.fail("run %s has ended with the children %v, and nothing is owed to them", a.Run.ID, a.Run.Children)
		return
	}
	record, ok := th.p.record(recordname.Outbox(b.Outbox[i].ID))
	if !ok {
		th.fail("the cancel %s has no record", b.Outbox[i].ID)
		return
	}
	owed, err := th.w.checks.DecodeOutbox(record.Payload)
	if err != nil || len(owed.To) != len(a.Run.Children) {
		th.fail("the cancel %s names %+v, %v; listed were %v", b.Outbox[i].ID, owed, err, a.Run.Children)
	}
}

// checkEnds: when all is over, no run goes on whose parent is over, unless it is detached, and no
// run lists a child that is over.
func (au *auditor) checkEnds() {
	for _, c := range au.w.family.byCall {
		run := c.in.run
		if run.IsZero() {
			continue
		}
		_, live := c.th.p.head.RunStatus(run)
		parent := au.w.partition(c.call.Thread)
		_, waits := parent.head.RunStatus(c.call.Run)
		switch listed := slices.Contains(parent.head.Run.Children, run); {
		case live && !waits && !detaches(c.call.Key()):
			au.w.fail(c.th.p, "run %s continues, and its parent %s is over: %+v", run, c.call.Run, c.th.p.head)
		case !live && listed && parent.head.Run.ID == c.call.Run:
			au.w.fail(parent, "run %s is over and still listed: %+v", run, parent.head)
		}
	}
}

// checkChildShown: what a stream shows of a child run is about a run that calls have started
// below its own, and a call that is shown to wait has waited.
func checkChildShown(w *World, th *threadState, e core.Event) {
	var c *child
	if p := w.storage.byKey[core.ThreadKey{Tenant: th.p.key.Tenant, Thread: e.Child.ThreadID}]; p != nil {
		c = w.family.byThread[p.state]
	}
	if c == nil || !c.in.run.IsZero() && c.in.run != e.Child.RunID || c.call.Run != e.Child.Parent {
		th.fail("the stream shows %+v, which no call has started", e.Child)
		return
	}
	if e.Type != core.EventToolCallSuspended {
		return
	}
	for id := range c.th.asks.by {
		if e.Ticket != nil && id.key == thread.TicketKey(e.Child.RunID, e.Ticket.Suspension.ID) {
			w.did(ChildAsked)
			return
		}
	}
	th.fail("ticket %+v of child run %s is shown, but no head ever had it", e.Ticket, e.Child.RunID)
}

// checkPlaces: where the calls of a round run together, a call that did not start can only wait for
// a place among the children. It must not wait while a place is free.
func (as *asks) checkPlaces(b *thread.Head) {
	if !b.Open() || b.Run.Status != thread.Waiting || len(b.Tickets) >= thread.MaxTickets || !slices.Contains(b.Run.Calls, thread.CallNew) {
		return
	}
	in := as.th.inputs.byText[as.th.inputs.textOf(b.Run.Dispatch)]
	if in != nil && modeOf(in.agent) != agent.Sequential {
		as.th.fail("a call waits for a place, and one is free: %+v", *b)
	}
}
