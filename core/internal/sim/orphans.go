package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// These checks run while the world runs. A child that should have been cancelled, and was not, ends by
// itself some time later, so the last state of a world does not show the mistake.

// checkOwed: once a thread owes no cancel any more, none of the runs that it was owed to continues.
func (th *threadState) checkOwed(a, b *thread.Head) {
	if a.Run.ID != b.Run.ID || b.Deleted {
		th.owed = append(th.owed, a.Run.Children...)
	}
	if len(th.owed) == 0 || slices.ContainsFunc(b.Outbox, func(e thread.OutboxEntry) bool { return e.Kind == thread.OutboxCancel }) {
		return
	}
	for _, run := range th.owed {
		c := th.w.family.byRun[run]
		if c == nil || detaches(c.call.Key()) || c.th.p.head.Deleted {
			continue
		}
		if status, live := c.th.p.head.RunStatus(run); live && status != core.RunDone {
			th.fail("run %s has ended and owes nothing any more, its child %s continues: %+v", a.Run.ID, run, c.th.p.head)
		}
		th.w.did(OwedCancel)
	}
	th.owed = nil
}

// checkTold: once the end of a child has reached a run, the run no longer lists it. A call that runs again
// lists its child before it finds out that this is over.
func (th *threadState) checkTold(a, b *thread.Head) {
	for _, run := range b.Run.Children {
		c := th.w.family.byRun[run]
		if c == nil || c.told == 0 {
			continue
		}
		if !slices.Contains(a.Run.Children, run) {
			c.relisted = true
		} else if !c.relisted {
			th.fail("child %s is listed after its end has arrived: %+v", run, *b)
		}
	}
	th.checkUntold(a, b)
}

// checkUntold: a child in the background leaves the list of an open run only with its end.
func (th *threadState) checkUntold(a, b *thread.Head) {
	if a.Run.ID != b.Run.ID || a.Run.Status == thread.Closing || b.Run.Status == thread.Closing || b.Deleted {
		return
	}
	for _, run := range a.Run.Children {
		c := th.w.family.byRun[run]
		if c != nil && c.aside && c.told == 0 && !slices.Contains(b.Run.Children, run) {
			th.fail("child %s is listed no more, and its end has not arrived: %+v", run, *b)
		}
	}
}

// wanted reports whether the parent of a child run is open, and still waits for it or lists it.
func (c *child) wanted() bool {
	parent := &c.th.w.partition(c.call.Thread).head
	if parent.Deleted || parent.Run.ID != c.call.Run || parent.Run.Status == thread.Closing {
		return false
	}
	return slices.Contains(parent.Run.Children, c.in.run) && (c.aside || parent.Run.Awaits(uint8(c.call.Index)))
}

// noteOrphan notes at the first claim of a child run that its parent does not want it any more.
func (th *threadState) noteOrphan(run core.ID) {
	c := th.w.family.byThread[th]
	if c == nil || c.claimed || !c.in.run.IsZero() && c.in.run != run {
		return
	}
	c.claimed = true
	if c.in.run.IsZero() { // its call does not know yet that it is started
		return
	}
	if c.orphan = !detaches(c.call.Key()) && !c.wanted(); c.orphan {
		th.w.did(Orphaned)
	}
}

// checkOrphan: a child run whose parent was over at its first claim infers nothing.
func (th *threadState) checkOrphan(run core.ID) {
	if c := th.w.family.byThread[th]; c != nil && c.in.run == run && c.orphan {
		th.fail("child run %s continues, and its parent was over when it started", run)
	}
}

// checkCancelled: a child run is cancelled by a person, or because its parent is over.
func (th *threadState) checkCancelled(a *thread.Head) {
	c := th.w.family.byThread[th]
	if c == nil || c.in.run != a.Run.ID || a.Run.Reason != thread.ReasonCancelled || th.inputs.named[a.Run.ID] {
		return
	}
	if c.wanted() || detaches(c.call.Key()) {
		th.fail("child run %s was cancelled without a reason", a.Run.ID)
	}
}

// endBeforeChild has people cancel a run that has listed a child, while the process that has
// written this takes its time to start the child.
func (pe *people) endBeforeChild(ctx context.Context, th *threadState, a, b *thread.Head) {
	w := pe.w
	if !w.config.Agents.Children || pe.w.config.People.Calm || w.now >= w.stop || a.Run.ID != b.Run.ID || len(b.Run.Children) <= len(a.Run.Children) || !w.random.chance(0.06) {
		return
	}
	run := b.Run.ID
	w.at(0, func() { pe.cancelRun(th, func() core.ID { return run }) })
	_ = w.sleep(ctx, w.random.between(50*time.Millisecond, 2*time.Second)) // the child is started, or not, with the same context
}
