package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// How many entries of lists one page looks at, and how many of them at a time. With a
// filter that few pass, a page may so have fewer than its limit, or none, and its Next.
const (
	listedLooked = 1000
	listedAtOnce = 25
)

// entry is a place of a list, with what its record says.
type entry struct {
	store.Place
	thread.Listing
}

// walk goes through lists as through one, newest first, in portions that are looked at
// side by side. look returns nothing for an entry that the page leaves out, and how many
// bytes an item is. It returns where the page has ended; nil: with the lists.
func walk[T any](ctx context.Context, r *Runtime, tenant string, lists []string, before *store.Place, limit int,
	look func(context.Context, entry) (item *T, size int, err error)) (items []T, next *store.Place, err error) {
	bytes, seen := 0, map[string]bool{}
	for looked := 0; looked < listedLooked; looked += listedAtOnce {
		portion, more, err := r.portion(ctx, tenant, lists, before)
		if err != nil {
			return nil, nil, err
		}
		found, sizes := make([]*T, len(portion)), make([]int, len(portion))
		group, _ := r.env.Group(ctx)
		for i, e := range portion {
			group.Go(func(ctx context.Context) (err error) {
				found[i], sizes[i], err = look(ctx, e)
				if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
					r.log.WarnContext(ctx, "what is listed cannot be read", "tenant", tenant, "thread", e.Thread, "record", e.Name, "error", err)
					err = nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, nil, err
		}
		for i, item := range found {
			if name := portion[i].Thread + "#" + portion[i].Name; item != nil && !seen[name] {
				seen[name] = true // an index that lags has it twice: where it stands now comes first
				if len(items) == limit || len(items) > 0 && bytes+sizes[i] > maxPageBytes {
					return items, before, nil
				}
				items, bytes = append(items, *item), bytes+sizes[i]
			}
			before = &portion[i].Place
		}
		if !more {
			return items, nil, nil
		}
	}
	return items, before, nil
}

// portion reads the next entries of lists. Each list has its own order, so that as many
// are read of each as come from all.
func (r *Runtime) portion(ctx context.Context, tenant string, lists []string, before *store.Place) (entries []entry, more bool, err error) {
	for _, list := range lists {
		found, err := r.store.Listed(ctx, tenant, list, before, listedAtOnce)
		if err != nil {
			return nil, false, fmt.Errorf("list %s: %w", list, err)
		}
		more = more || len(found) == listedAtOnce
		for _, l := range found {
			note, err := r.records.DecodeListing(l.Payload)
			if err != nil { // of a newer program: its place says enough
				note = thread.Listing{List: list, At: l.At}
			}
			entries = append(entries, entry{l.Place, note})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return b.Compare(a.Place) })
	if len(entries) > listedAtOnce {
		entries, more = entries[:listedAtOnce], true
	}
	return entries, more, nil
}

// listsOf are the lists of a kind that somebody may read: their own and nobody's.
func listsOf(kind func(user string) string, user string) []string {
	if user == "" {
		return []string{kind("")}
	}
	return []string{kind(user), kind("")}
}

// Runs lists runs of the caller's threads and of those that belong to nobody. Each is as
// its head and record say when the page is read. The runs of child threads are among
// them. A run that was submitted a moment ago may not be there yet.
func (r *Runtime) Runs(ctx context.Context, id core.Identity, q RunQuery) (RunPage, error) {
	if err := q.check(); err != nil {
		return RunPage{}, err
	}
	tenant := r.tenantOf(id)
	items, next, err := walk(ctx, r, tenant, listsOf(store.RunsList, id.User), q.Before, q.limit(), func(ctx context.Context, e entry) (*core.Run, int, error) {
		if !q.mayBe(e.Listing) {
			return nil, 0, nil
		}
		key := core.ThreadKey{Tenant: tenant, Thread: e.Thread}
		head, err := r.mailbox.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return nil, 0, err
		}
		return r.listedRun(ctx, key, head, e, q)
	})
	return RunPage{Runs: items, Next: next}, err
}

// ThreadRuns lists the runs that were submitted on a thread, as Runs does.
func (r *Runtime) ThreadRuns(ctx context.Context, id core.Identity, threadID string, q RunQuery) (page RunPage, err error) {
	if err := q.check(); err != nil {
		return RunPage{}, err
	}
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return RunPage{}, err
	}
	before, bytes := "", 0
	if q.Before != nil {
		before = q.Before.Name
	}
	for range listedLooked / listedAtOnce {
		records, err := r.store.RecordsBackwards(ctx, key, store.ActivityName, before, listedAtOnce)
		if err != nil {
			return RunPage{}, fmt.Errorf("list runs of thread %s: %w", threadID, err)
		}
		for _, record := range records {
			e := entry{Place: store.Place{Thread: threadID, Name: record.Name}}
			if e.Listing, err = r.records.DecodeListing(record.Payload); err != nil {
				e.Listing = thread.Listing{}
			}
			run, size, err := (*core.Run)(nil), 0, error(nil)
			if record.Name != store.ActivityName && q.mayBe(e.Listing) {
				run, size, err = r.listedRun(ctx, key, head, e, q)
			}
			if err != nil {
				return RunPage{}, err
			}
			if run != nil {
				if len(page.Runs) == q.limit() || len(page.Runs) > 0 && bytes+size > maxPageBytes {
					page.Next = &store.Place{Thread: threadID, Name: before}
					return page, nil
				}
				page.Runs, bytes = append(page.Runs, *run), bytes+size
			}
			before = record.Name
		}
		if len(records) < listedAtOnce {
			return page, nil
		}
	}
	page.Next = &store.Place{Thread: threadID, Name: before}
	return page, nil
}

// listedRun reads a run that is listed; nil when there is none such, or another one is
// asked for.
func (r *Runtime) listedRun(ctx context.Context, key core.ThreadKey, head thread.Head, e entry, q RunQuery) (*core.Run, int, error) {
	runID, err := core.ParseID(e.Name[len(store.ActivityName):])
	if err != nil {
		return nil, 0, nil
	}
	run, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatchOf(head, runID))
	if err == nil && !ok { // it has ended before a step opened it, which its dispatch says
		_, dispatch, located, failed := r.mailbox.Locate(ctx, key.Tenant, runID)
		if err = failed; located && err == nil {
			run, ok, err = r.mailbox.Run(ctx, key, head, runID, dispatch)
		}
	}
	if err != nil || !ok || !q.is(run) {
		return nil, 0, err
	}
	const around = 1 << 10 // what is not the response
	return &run, around + len(run.Response), nil
}

// dispatchOf is the dispatch of a run that is queued or delayed; zero: it is neither.
func dispatchOf(head thread.Head, run core.ID) core.ID {
	for _, d := range head.Unopened() {
		if d.Run == run {
			return d.ID
		}
	}
	return core.ID{}
}

func (q RunQuery) limit() int {
	if q.Limit == 0 {
		return defaultPage
	}
	return q.Limit
}

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

// mayBe reports whether a listed run may be one that is asked for, before it is read.
func (q RunQuery) mayBe(l thread.Listing) bool {
	return q.Agent == "" || l.AgentID == "" || l.AgentID == q.Agent
}

// is reports whether a run is one that is asked for.
func (q RunQuery) is(run core.Run) bool {
	switch {
	case q.Status != "" && run.Status != q.Status, q.Agent != "" && run.AgentID != q.Agent:
		return false
	case q.Termination == "":
		return true
	}
	return run.Termination != nil && run.Termination.Type == q.Termination
}
