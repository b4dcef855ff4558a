package mailbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// ListQuery selects a page of a thread's mailbox.
type ListQuery struct {
	// After is a page's Next; empty: from the start.
	After string
	// Status keeps the dispatches of one status; empty: all.
	Status core.DispatchStatus
	// Limit is how many dispatches a page has at most, 1 to 200; 0: 50. Live ones count, and
	// are on the first page anyway if there are more.
	Limit int
}

// ListPage is a page of a thread's mailbox. It has the open and queued entries, in the order in
// which they run, then the ended ones, oldest first: runs that were opened, then dispatches and
// inbox entries that were not.
type ListPage struct {
	// Epoch counts how often the thread was interrupted or deleted.
	Epoch      uint64
	Dispatches []core.Dispatch
	// Next is the After of the next page; empty: this is the last.
	Next string
}

// The bounds of a page. A page that is filtered may have looked at scanLimit records
// and end with few dispatches, or none: its Next leads on.
const (
	defaultListPage = 50
	maxListPage     = 200
	scanLimit       = 1000
)

// The records of ended dispatches, in the order in which they are listed.
const (
	runRecords   = "R#"
	auditRecords = "A#"
)

// complete fills in defaults and validates the query; the error names the field and what is
// allowed.
func (q ListQuery) complete() (ListQuery, error) {
	if q.Limit == 0 {
		q.Limit = defaultListPage
	}
	if q.Limit < 1 || q.Limit > maxListPage {
		return q, core.Errorf(core.CodeInvalid, "limit %d, allowed are 1 to %d", q.Limit, maxListPage)
	}
	switch q.Status {
	case "", core.DispatchQueued, core.DispatchClaimed, core.DispatchAcked, core.DispatchCancelled, core.DispatchSuperseded, core.DispatchDeadLetter:
	default:
		return q, core.Errorf(core.CodeInvalid, "status %q is unknown, allowed are queued, claimed, acked, cancelled, superseded, dead_letter", core.Excerpt(string(q.Status)))
	}
	if q.After != "" && !strings.HasPrefix(q.After, runRecords) && !strings.HasPrefix(q.After, auditRecords) {
		return q, core.Errorf(core.CodeInvalid, "cursor %q is not from a page", core.Excerpt(q.After))
	}
	return q, nil
}

// List reads a page of a thread's mailbox. head was read before: it decides about
// what is open and queued, all of which is on the first page, over its limit if need be.
// Ended entries are read from run records and audits, which may be older than the head.
func (s *Service) List(ctx context.Context, key core.ThreadKey, head thread.Head, q ListQuery) (ListPage, error) {
	q, err := q.complete()
	if err != nil {
		return ListPage{}, err
	}
	l := lister{reads: s.reads, key: key, head: head, query: q, page: ListPage{Epoch: head.Epoch, Dispatches: []core.Dispatch{}}}
	if q.After == "" {
		if err := l.addLive(ctx); err != nil {
			return ListPage{}, err
		}
	}
	for _, prefix := range []string{runRecords, auditRecords} {
		if q.After != "" && !strings.HasPrefix(q.After, prefix) && prefix == runRecords {
			continue // the page before has come past them
		}
		full, err := l.addEnded(ctx, prefix)
		if err != nil || full {
			return l.page, err
		}
	}
	return l.page, nil
}

// lister fills one page, of the thread as one head shows it.
// It is one goroutine's. scanned counts the records that were looked at, for a page that is
// filtered by status.
type lister struct {
	reads reader
	key   core.ThreadKey
	head  thread.Head
	query ListQuery
	// scanned is how many records were looked at: a page ends at scanLimit.
	scanned int
	page    ListPage
}

// add adds a dispatch to the page if it has the requested status.
func (l *lister) add(d core.Dispatch) {
	if l.query.Status == "" || d.Status == l.query.Status {
		l.page.Dispatches = append(l.page.Dispatches, d)
	}
}

// addLive adds what the head has: the open run with its inbox, then the queue.
// All of it is on the first page: the head is small, and a cursor into it would be stale
// with the next write.
func (l *lister) addLive(ctx context.Context) error {
	if l.head.Open() {
		if err := l.addOpen(ctx); err != nil {
			return err
		}
	}
	// In the order in which they would open if all were available: as thread.Head does.
	pending := slices.Concat(l.head.Delayed, l.head.Pending)
	slices.SortStableFunc(pending, func(a, b thread.Dispatch) int {
		first := func(d thread.Dispatch) int {
			if d.Steered {
				return -1
			}
			return int(d.Priority)
		}
		return cmp.Compare(first(a), first(b))
	})
	for _, p := range pending {
		d := core.Dispatch{ID: p.ID, RunID: p.Run, Kind: core.DispatchRun, Status: core.DispatchQueued, RunStatus: core.RunCreated,
			Priority: &p.Priority, AvailableAt: p.AvailableAt, MaxAttempts: thread.MaxAttempts}
		if err := l.addUnread(ctx, &d, p.Revision); err != nil {
			return err
		}
		if err := l.addInbox(ctx, p.Run, p.Rest); err != nil {
			return err
		}
	}
	return nil
}

// addOpen adds the open run's dispatch and inbox. Between two steps its continuation is
// queued; while it waits there is nothing to deliver, and its last delivery is acked.
func (l *lister) addOpen(ctx context.Context) error {
	run, claim := l.head.Run, l.head.Claim
	status, _ := l.head.RunStatus(run.ID)
	record, ok, err := l.reads.run(ctx, l.key, l.head, run.ID, run.Dispatch)
	if !ok {
		return err
	}
	d := core.Dispatch{
		ID: run.Dispatch, RunID: run.ID, Kind: core.DispatchRun, Status: core.DispatchQueued, RunStatus: status, AgentID: record.AgentID,
		AvailableAt: run.AvailableAt, Attempts: int(run.Attempts), MaxAttempts: thread.MaxAttempts,
		FailedCalls: int(run.ModelFailed), FailingSince: l.head.FailingSince(),
		Termination: record.Termination, CreatedAt: createdAt(run.Dispatch),
	}
	switch {
	case claim.Fence != 0:
		d.Status, d.ClaimedBy, d.LeaseUntil = core.DispatchClaimed, claim.Worker, claim.Lease
	case run.Status == thread.Waiting:
		d.Status = core.DispatchAcked
	}
	if d.Tickets, err = l.reads.tickets(ctx, l.key, l.head); err != nil {
		return err
	}
	l.add(d)
	return l.addInbox(ctx, run.ID, l.head.Inbox)
}

// addInbox adds input that waits for a run.
func (l *lister) addInbox(ctx context.Context, run core.ID, entries []thread.InboxEntry) error {
	for _, e := range entries {
		d := core.Dispatch{ID: e.ID, RunID: run, Kind: core.DispatchInput, Status: core.DispatchQueued}
		if err := l.addUnread(ctx, &d, e.Revision); err != nil {
			return err
		}
	}
	return nil
}

// addUnread adds a dispatch with the content of its input. If the input is lost, it is added
// without content; its run will find that out.
func (l *lister) addUnread(ctx context.Context, d *core.Dispatch, revision uint32) error {
	if l.query.Status != "" && l.query.Status != d.Status {
		return nil
	}
	d.CreatedAt = createdAt(d.ID)
	record, ok, err := l.reads.store.Get(ctx, l.key, recordname.Input(d.ID, revision))
	if err != nil {
		return fmt.Errorf("read queued input %s: %w", d.ID, err)
	}
	if ok {
		in, err := l.reads.records.DecodeQueued(record.Payload)
		if err != nil {
			return fmt.Errorf("queued input %s: %w", d.ID, err)
		}
		d.AgentID, d.Messages = in.AgentID, in.Messages
	}
	l.add(*d)
	return nil
}
