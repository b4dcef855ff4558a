package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// ReadRun reads a run with its status and the tickets that it waits for. Head and record
// are two reads: the head is the older one, and decides if they differ. The error is
// core.CodeNotFound for a run that does not exist or that the caller may not read.
func (r *Host) ReadRun(ctx context.Context, id core.Identity, runID core.ID) (core.Run, error) {
	key, head, record, err := r.reads.runRecord(ctx, id, runID)
	if err == nil && head.Run.ID == runID {
		record.Tickets, err = r.mailbox.Tickets(ctx, key, head)
	}
	if err != nil {
		return core.Run{}, err
	}
	return record, nil
}

// ActiveRun reads the thread's open run with the tickets that it waits for. ok is false
// if no run is open, or the open run is closing: nothing can be steered to it any more.
func (r *Host) ActiveRun(ctx context.Context, id core.Identity, threadID string) (record core.Run, ok bool, err error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return record, false, err
	}
	if !head.Open() || head.Run.Status == thread.Closing {
		return record, false, nil
	}
	// The head has the run open, so that it is known.
	if record, _, err = r.mailbox.Run(ctx, key, head, head.Run.ID, head.Run.Dispatch); err == nil {
		record.Tickets, err = r.mailbox.Tickets(ctx, key, head)
	}
	return record, err == nil, err
}

// RunOfKey finds a run by the key that its input was submitted under (mailbox.Key.Value),
// for clients that name their runs. ok is false if the thread knows no such key, does not
// exist, or is another user's.
func (r *Host) RunOfKey(ctx context.Context, id core.Identity, threadID, name string) (run core.ID, ok bool, err error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if core.CodeOf(err) == core.CodeNotFound {
		return run, false, nil
	}
	if err != nil {
		return run, false, err
	}
	return r.mailbox.Submitted(ctx, key, head, name)
}

// Runs lists runs of the caller's threads and of threads without an owner, newest first,
// runs of child threads included. Each run is as its head and record are when the page is
// read. A run that was submitted a moment ago may be missing: the list is updated after
// the submission. With a Thread the listings that the thread itself has are read, one for
// each run.
//
// A page costs the lists, then for each run the head of its thread and its record.
func (r *Host) Runs(ctx context.Context, id core.Identity, q RunQuery) (Page[core.Run], error) {
	if err := q.check(); err != nil {
		return Page[core.Run]{}, err
	}
	before, err := parseListed(q.After)
	if err != nil {
		return Page[core.Run]{}, err
	}
	if q.Thread != "" {
		return r.threadRuns(ctx, id, q, before)
	}
	tenant := r.reads.tenantOf(id)
	items, next, err := walk(ctx, r.reads, tenant, listsOf(recordname.RunsList, id.User), before, q.limit(), func(ctx context.Context, e entry) (*core.Run, int, error) {
		if !q.mayBe(e.Listing) {
			return nil, 0, nil
		}
		// The list may lag and has no owner: the head decides what the caller may read.
		key := core.ThreadKey{Tenant: tenant, Thread: e.Thread}
		head, err := r.mailbox.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return nil, 0, err
		}
		return r.reads.listedRun(ctx, key, head, e, q)
	})
	return Page[core.Run]{Items: items, Next: listedText(next)}, err
}

// threadRuns is Runs of a thread.
func (r *Host) threadRuns(ctx context.Context, id core.Identity, q RunQuery, after *store.Place) (page Page[core.Run], err error) {
	key, head, err := r.reads.visible(ctx, id, q.Thread)
	if err != nil {
		return Page[core.Run]{}, err
	}
	// before is the name of the record before which the page continues. Names of a thread's
	// listings ascend with the submission's time, since ids start with it.
	before, bytes := "", 0
	if after != nil {
		before = after.Name
	}
	for range listedLooked / listedAtOnce {
		records, err := r.reads.store.RecordsBackwards(ctx, key, recordname.Activity, before, listedAtOnce)
		if err != nil {
			return Page[core.Run]{}, fmt.Errorf("list runs of thread %s: %w", q.Thread, err)
		}
		for _, record := range records {
			e := entry{Place: store.Place{Name: record.Name}}
			if e.Listing, err = r.reads.records.DecodeListing(record.Payload); err != nil {
				e.Listing = thread.Listing{} // of a newer program: the run's own record decides
			}
			// The name of the thread's own listing is the prefix alone, which names no run.
			run, size, err := (*core.Run)(nil), 0, error(nil)
			if q.mayBe(e.Listing) {
				run, size, err = r.reads.listedRun(ctx, key, head, e, q)
			}
			if err != nil {
				return Page[core.Run]{}, err
			}
			if run != nil {
				// The first run always fits: a page without any would have no cursor past it.
				if len(page.Items) == q.limit() || len(page.Items) > 0 && bytes+size > maxPageBytes {
					page.Next = listedText(&store.Place{Thread: q.Thread, Name: before})
					return page, nil
				}
				page.Items, bytes = append(page.Items, *run), bytes+size
			}
			before = record.Name
		}
		if len(records) < listedAtOnce {
			return page, nil
		}
	}
	// As many records were read as a page may cost. The rest belongs to another page.
	page.Next = listedText(&store.Place{Thread: q.Thread, Name: before})
	return page, nil
}

// listedRun reads a listed run and its size on a page, in bytes. It returns nil for a run
// that does not exist any more or that the query excludes.
func (r *reader) listedRun(ctx context.Context, key core.ThreadKey, head thread.Head, e entry, q RunQuery) (*core.Run, int, error) {
	runID, err := core.ParseID(e.Name[len(recordname.Activity):])
	if err != nil {
		return nil, 0, nil // not a name that this program writes
	}
	run, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatchOf(head, runID))
	if err == nil && !ok { // it may have ended before a step opened it: then only its dispatch knows
		_, dispatch, located, failed := r.mailbox.Locate(ctx, key.Tenant, runID)
		if err = failed; located {
			run, ok, err = r.mailbox.Run(ctx, key, head, runID, dispatch)
		}
	}
	if err != nil || !ok || !q.is(run) {
		return nil, 0, err
	}
	const around = 1 << 10 // all but the response
	return &run, around + len(run.Response), nil
}

// dispatchOf returns the dispatch of a run that is queued or delayed; zero: it is neither.
func dispatchOf(head thread.Head, run core.ID) core.ID {
	for _, d := range head.Unopened() {
		if d.Run == run {
			return d.ID
		}
	}
	return core.ID{}
}

// limit returns the page's limit, with its default.
func (q RunQuery) limit() int {
	if q.Limit == 0 {
		return defaultPage
	}
	return q.Limit
}

// check refuses a limit, status or termination that does not exist.
func (q RunQuery) check() error {
	if _, err := (MessageQuery{Limit: q.Limit}).complete(); err != nil {
		return err
	}
	switch q.Status {
	case "", core.RunCreated, core.RunRunning, core.RunWaiting, core.RunDone:
	default:
		return core.Errorf(core.CodeInvalid, "status %q is unknown, allowed are created, running, waiting, done", core.Excerpt(string(q.Status)))
	}
	switch q.Termination {
	case "", core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped, core.TerminationCancelled,
		core.TerminationBlocked, core.TerminationSuperseded, core.TerminationError:
	default:
		return core.Errorf(core.CodeInvalid, "termination %q is unknown, allowed are natural_end, behavior_requested, stopped, cancelled, blocked, superseded, error",
			core.Excerpt(string(q.Termination)))
	}
	return nil
}

// mayBe reports whether a listed run may match the query, before it is read. A listing
// of an older program has no agent and may match.
func (q RunQuery) mayBe(l thread.Listing) bool {
	return q.Agent == "" || l.AgentID == "" || l.AgentID == q.Agent
}

// is reports whether a run matches the query.
func (q RunQuery) is(run core.Run) bool {
	switch {
	case q.Status != "" && run.Status != q.Status, q.Agent != "" && run.AgentID != q.Agent:
		return false
	case q.Termination == "":
		return true
	}
	return run.Termination != nil && run.Termination.Type == q.Termination
}
