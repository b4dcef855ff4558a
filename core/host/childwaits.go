package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// childWaits finds out for one call whether a run that waits for child runs can go on without
// a person: a program that waits for such a run would wait forever, since the person's
// decision may have to come from the program. A stream does not ask: its client sees the
// child's ticket where it sees all tickets, and the stream stays open for what follows.
//
// It reads the heads of the children each time before the call pauses, and which thread a
// ticket leads to once. It serves one goroutine.
type childWaits struct {
	mailbox *mailbox.Service
	key     core.ThreadKey // of the run's thread
	runs    map[childTicket]childRun
}

// childTicket names a ticket that waits for a child run.
type childTicket struct {
	thread core.ThreadKey
	id     uint64 // in its head
}

// childRun is the run that a ticket waits for.
type childRun struct {
	thread core.ThreadKey
	run    core.ID
}

// childDepth bounds how deep child runs are followed: tools can make runs wait in a circle.
const childDepth = 16

// asked reports whether a head's open run waits only for child runs, and whether each of them
// waits for a person or a client, directly or through its own children. Then nothing changes
// without a decision. The waiter receives the threads that asked has read.
func (c *childWaits) asked(ctx context.Context, w *waiter, head thread.Head) (asked, waits bool, err error) {
	if head.Run.Status != thread.Waiting || !head.Tickets.AwaitChildren() {
		return false, false, nil
	}
	asked, err = c.allAsk(ctx, w, c.key, head, childDepth)
	return asked, true, err
}

// allAsk reports whether each child run that an open run waits for waits for a person. The
// run waits for one at least.
func (c *childWaits) allAsk(ctx context.Context, w *waiter, key core.ThreadKey, head thread.Head, depth int) (bool, error) {
	for _, t := range head.Tickets {
		if t.Kind != thread.TicketChild || t.Decision != 0 {
			continue
		}
		child, ok, err := c.childOf(ctx, key, head, t)
		if err != nil || !ok {
			return false, err
		}
		// Before the head is read, so that no change is missed. Changes of another process are
		// not announced here; the call looks again after its interval.
		w.hear(child.thread)
		now, err := c.mailbox.Head(ctx, child.thread)
		if err != nil {
			return false, err
		}
		// A child that is queued after a run that waits for a person waits for that person too.
		if _, pending := now.RunStatus(child.run); !pending || now.Run.Status != thread.Waiting {
			return false, nil
		}
		if !now.Tickets.AwaitNobody() {
			continue
		}
		if depth == 0 || !now.Tickets.AwaitChildren() { // a time comes by itself
			return false, nil
		}
		if all, err := c.allAsk(ctx, w, child.thread, now, depth-1); err != nil || !all {
			return false, err
		}
	}
	return true, nil
}

// childOf returns the run that a ticket waits for; ok is false if it does not exist yet: a tool
// may wait for a run that it has not started.
func (c *childWaits) childOf(ctx context.Context, key core.ThreadKey, head thread.Head, t thread.Ticket) (childRun, bool, error) {
	at := childTicket{key, t.ID}
	if known, ok := c.runs[at]; ok {
		return known, true, nil
	}
	tickets, err := c.mailbox.Tickets(ctx, key, head)
	if err != nil {
		return childRun{}, false, err
	}
	for _, one := range tickets {
		if thread.TicketKey(head.Run.ID, one.Suspension.ID) != t.ID {
			continue
		}
		run, err := core.ParseID(one.Suspension.ID)
		if err != nil { // the end of no run can decide it
			return childRun{}, false, nil
		}
		found, _, ok, err := c.mailbox.Locate(ctx, key.Tenant, run)
		if err != nil || !ok {
			return childRun{}, false, err
		}
		c.runs[at] = childRun{found, run}
		return c.runs[at], true, nil
	}
	return childRun{}, false, nil
}
