package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Approvals come from an index of the store: threads whose head has waited for a decision since
// a given time. Like lists, the index may lag; the head of each thread decides whether the
// approval is returned.

// How many threads of the index one page looks at, and how many of them concurrently. In a
// tenant with many waiting threads, a user who may read few of them may get a page without
// approvals that has a Next.
const (
	approvalsLooked = 200
	approvalsAtOnce = 10
)

// Approvals lists the calls that wait for a decision, longest waiting first, in the
// threads that the caller may read: the caller's own and those without an owner. Each
// thread is as its head is when the page is read: a decided call is not shown even if the
// index lags. A call that started to wait a moment ago may be missing. A thread that
// cannot be decoded is omitted and logged.
//
// A page costs the index, then for each of its threads the head and, unless the query
// excludes its calls, one record for each ticket, the run's record and listing, and the
// thread's title. A thread without a title costs the listing of its first run also.
func (r *Host) Approvals(ctx context.Context, id core.Identity, q ApprovalQuery) (Page[Approval], error) {
	q, err := q.complete()
	if err != nil {
		return Page[Approval]{}, err
	}
	tenant := r.reads.tenantOf(id)
	if err := core.CheckName("tenant", tenant); err != nil {
		return Page[Approval]{}, err
	}
	after, err := parseWaiting(q.After)
	if err != nil {
		return Page[Approval]{}, err
	}
	// after moves past every thread of the index that the page has looked at.
	page, size := Page[Approval]{Items: []Approval{}}, 0
	for range approvalsLooked / approvalsAtOnce {
		waiting, err := r.reads.store.Waiting(ctx, tenant, after, approvalsAtOnce)
		if err != nil {
			return Page[Approval]{}, fmt.Errorf("list approvals: %w", err)
		}
		found, err := r.reads.askedIn(ctx, id, q, tenant, waiting)
		if err != nil {
			return Page[Approval]{}, fmt.Errorf("list approvals: %w", err)
		}
		for i, asked := range found {
			more := sizeOf(asked)
			// A thread's approvals are never divided between pages, and the first always fit.
			if len(page.Items) > 0 && (len(page.Items)+len(asked) > q.Limit || size+more > q.Bytes) {
				page.Next = waitingText(after)
				return page, nil
			}
			page.Items, size = append(page.Items, asked...), size+more
			after = &store.Waiting{Since: waiting[i].Since, Thread: waiting[i].Thread}
		}
		if len(waiting) < approvalsAtOnce {
			return page, nil
		}
	}
	page.Next = waitingText(after)
	return page, nil
}

// complete returns the query with its defaults, or core.CodeInvalid.
func (q ApprovalQuery) complete() (ApprovalQuery, error) {
	bounds, err := MessageQuery{Limit: q.Limit, Bytes: q.Bytes}.complete()
	q.Limit, q.Bytes = bounds.Limit, bounds.Bytes
	switch q.Kind {
	case "", core.TicketPerson, core.TicketClient:
		return q, err
	}
	return q, core.Errorf(core.CodeInvalid, "kind %q is unknown, allowed are person, client", core.Excerpt(string(q.Kind)))
}

// askedIn reads the approvals of several threads concurrently. It returns none for a
// thread that no longer waits, waits since another time than the index has, or is another
// user's.
func (r *reader) askedIn(ctx context.Context, id core.Identity, q ApprovalQuery, tenant string, waiting []store.Waiting) ([][]Approval, error) {
	found := make([][]Approval, len(waiting))
	group, _ := r.env.Group(ctx)
	for i, w := range waiting {
		group.Go(func(ctx context.Context) (err error) {
			key := core.ThreadKey{Tenant: tenant, Thread: w.Thread}
			found[i], err = r.asked(ctx, id, q, key, w.Since)
			if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
				r.log.WarnContext(ctx, "waiting thread cannot be read", "tenant", key.Tenant, "thread", key.Thread, "error", err)
				err = nil
			}
			return err
		})
	}
	return found, group.Wait()
}

// asked reads the approvals of one thread that waits since a time, as far as the query is for
// them. The head is read first: a thread that has been decided meanwhile, or is another
// user's, costs nothing else. The run's record comes before names, since an agent that the
// query excludes needs none.
func (r *reader) asked(ctx context.Context, id core.Identity, q ApprovalQuery, key core.ThreadKey, since int64) ([]Approval, error) {
	head, err := r.mailbox.Head(ctx, key)
	if err != nil || head.Run.WaitsSince != since || !readable(id, head) {
		return nil, err
	}
	if q.Kind != "" { // the head has the kind, so that others cost no read
		client := q.Kind == core.TicketClient
		head.Tickets = slices.DeleteFunc(slices.Clone(head.Tickets), func(t thread.Ticket) bool {
			return client != (t.Kind == thread.TicketClient)
		})
	}
	tickets, err := r.mailbox.Asked(ctx, key, head)
	if err != nil || len(tickets) == 0 {
		return nil, err
	}
	run, ok, err := r.mailbox.Run(ctx, key, head, head.Run.ID, head.Run.Dispatch)
	if err == nil && !ok {
		err = fmt.Errorf("run %s of a ticket is missing: %w", head.Run.ID, store.ErrCorrupt)
	}
	if err != nil || q.Agent != "" && run.AgentID != q.Agent {
		return nil, err
	}
	title, err := r.called(ctx, key, &run)
	if err != nil {
		return nil, err
	}
	var all []Approval
	for _, t := range tickets {
		all = append(all, Approval{ThreadID: key.Thread, RunID: run.ID, AgentID: run.AgentID, ThreadTitle: title, Asked: run.Asked, Parent: run.StartedBy, Ticket: t})
	}
	return all, nil
}

// called returns what people call the thread of a run by: its title, else how its first
// input begins. It notes how the run's own input begins.
func (r *reader) called(ctx context.Context, key core.ThreadKey, run *core.Run) (title string, err error) {
	group, _ := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		title, err = r.title(ctx, key)
		return err
	})
	group.Go(func(ctx context.Context) error {
		listed, err := r.listing(ctx, key, recordname.Listing(run.ID))
		if err != nil {
			return err
		}
		return r.noteAsked(ctx, key, run, listed.Asked)
	})
	if err := group.Wait(); err != nil || title != "" {
		return title, err
	}
	// A program that lists no first input leaves the run's own as the best name.
	title, err = r.firstAsked(ctx, key)
	return cmp.Or(title, run.Asked), err
}

// sizeOf estimates the JSON of approvals, in bytes.
func sizeOf(all []Approval) int {
	const around = 256 // names, ids and times
	size := 0
	for _, a := range all {
		ticket, _ := json.Marshal(a.Ticket) // was read as JSON
		size += around + len(ticket) + len(a.ThreadTitle) + len(a.Asked)
	}
	return size
}
