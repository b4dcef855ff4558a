package host

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The calls of child runs that wait for a person or a client, as reads of their parent's run
// have them. The bounds are those of a stream.
//
// A read of a run without child runs costs nothing for this. For each child run it costs its
// pointer and its head, and if that waits, a record for each ticket and the run's own record.

// noteAllTickets fills in the tickets of the open run of a head, and those of the runs that it
// has started.
func (r *reader) noteAllTickets(ctx context.Context, key core.ThreadKey, head thread.Head, run *core.Run) (err error) {
	if run.Tickets, err = r.mailbox.Tickets(ctx, key, head); err != nil || !hasChildren(head) {
		return err
	}
	tree := childTree{reads: r}
	err = tree.visit(ctx, key, head, run.Tickets, depthFollowed)
	if len(tree.tickets) > 0 {
		run.Children = &core.RunChildren{Tickets: tree.tickets}
	}
	return err
}

// childTree reads the child runs of a run, and through them theirs.
type childTree struct {
	reads   *reader
	runs    int
	tickets []core.ChildTicket
}

// visit reads the child runs of a head's open run, whose tickets were read.
func (c *childTree) visit(ctx context.Context, key core.ThreadKey, head thread.Head, tickets []core.Ticket, depth int) error {
	if depth == 0 {
		return nil
	}
	for _, run := range childRuns(head, tickets) {
		if c.runs++; c.runs > descendantsFollowed {
			return nil
		}
		at, dispatch, ok, err := c.reads.mailbox.Locate(ctx, key.Tenant, run)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		child, err := c.reads.mailbox.Head(ctx, at)
		if err != nil {
			return err
		}
		if foreign(child, head.Owner) {
			continue
		}
		about := core.ChildRun{RunID: run, ThreadID: at.Thread, Parent: head.Run.ID}
		if err := c.visitRun(ctx, at, dispatch, child, about, depth); err != nil {
			return err
		}
	}
	return nil
}

// visitRun reads a child run: if it is open, its tickets and its own child runs. A run that
// starts to wait during the read may be missing, as in any list.
func (c *childTree) visitRun(ctx context.Context, key core.ThreadKey, dispatch core.ID, head thread.Head, about core.ChildRun, depth int) error {
	if head.Run.ID != about.RunID { // it is queued, or over
		return nil
	}
	tickets, err := c.reads.mailbox.Tickets(ctx, key, head)
	if err != nil {
		return err
	}
	// Questions alone: a person decides a timer on its own thread.
	for _, t := range tickets {
		if t.Decision != nil || !t.ByPerson() && t.Kind != core.TicketClient {
			continue
		}
		if about.AgentID == "" {
			if err := c.describe(ctx, key, dispatch, head, &about); err != nil {
				return err
			}
		}
		c.tickets = append(c.tickets, core.ChildTicket{ChildRun: about, Ticket: t})
	}
	return c.visit(ctx, key, head, tickets, depth-1)
}

// describe fills in what the record of a child run has. It is read only for runs with a ticket to
// show.
func (c *childTree) describe(ctx context.Context, key core.ThreadKey, dispatch core.ID, head thread.Head, about *core.ChildRun) error {
	run, ok, err := c.reads.mailbox.Run(ctx, key, head, about.RunID, dispatch)
	if err != nil || !ok {
		return err
	}
	if about.AgentID = run.AgentID; run.StartedBy != nil {
		about.ParentCall = run.StartedBy.ToolCallID
	}
	return nil
}

// childRuns returns the child runs of a head's open run, given its tickets: those first that a
// call waits for.
func childRuns(head thread.Head, tickets []core.Ticket) (runs []core.ID) {
	for _, t := range tickets {
		run, err := core.ParseID(t.Suspension.ID)
		if t.Kind == core.TicketChild && t.Decision == nil && err == nil {
			runs = append(runs, run)
		}
	}
	for _, run := range head.Run.Children {
		if !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs[:min(len(runs), childrenFollowed)]
}
