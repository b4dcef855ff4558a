package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Runs lists runs of the caller's threads and of threads without an owner, newest first,
// runs of child threads included. Each run is as its head and record are when the page is
// read. A run that was submitted a moment ago may be missing: the list is updated after
// the submission. With a Thread the listings that the thread itself has are read, one for
// each run.
//
// A page costs the lists, then for each thread its head and title, and for each run its
// record. A filter that the listings know (agent, origin, parent, time) costs nothing for
// the runs that it excludes, and Text nothing for their records.
func (r *Host) Runs(ctx context.Context, id core.Identity, q RunQuery) (Page[core.Run], error) {
	if err := q.check(); err != nil {
		return Page[core.Run]{}, err
	}
	before, err := parseListed(q.After)
	if err != nil {
		return Page[core.Run]{}, err
	}
	l := &runLister{r: r.reads, id: id, tenant: r.reads.tenantOf(id), q: q, text: strings.ToLower(q.Text), now: r.env.Millis(), threads: map[string]*listedThread{}}
	if none, err := l.narrow(ctx); none || err != nil {
		return Page[core.Run]{}, err
	}
	if q.Thread != "" {
		return l.ofThread(ctx, before)
	}
	// Both bounds cut the walk by the order of the index: a page neither starts with runs
	// that are too new, nor looks at those that are too old.
	if q.Until > 0 && (before == nil || before.At >= q.Until) {
		before = &store.Place{At: q.Until} // sorts before every entry of that time
	}
	items, next, err := walk(ctx, r.reads, l.tenant, stroll[core.Run]{
		lists: listsOf(recordname.RunsList, id.User), before: before, since: l.q.Since, limit: q.limit(), prepare: l.prepare, look: l.look,
	})
	return Page[core.Run]{Items: items, Next: listedText(next)}, err
}

// runLister reads the runs of one page of a list. The reads of the runs of a portion are
// concurrent: they share threads, which only prepare changes, before any of them starts.
type runLister struct {
	r      *reader
	id     core.Identity
	tenant string
	q      RunQuery
	text   string // of the query, in lower case
	parent string // the thread of q.Parent; empty: any
	now    int64  // of the query, unix milliseconds: how long open runs have taken
	// threads are those of the entries so far that the query may be for, by name. It is
	// changed between portions of entries only.
	threads map[string]*listedThread
}

// listedThread is what the runs of one thread on a page share.
type listedThread struct {
	key   core.ThreadKey
	head  thread.Head // the zero Head: the caller may not read it, or it is gone
	title string
	err   error // why it cannot be read
}

// narrow looks up the parent of the query: its children were submitted after it, from its
// thread. A listing has the thread of the parent and not its run, so that most runs are
// excluded without a read, and the record tells the others apart. none reports that no run
// can match.
func (l *runLister) narrow(ctx context.Context) (none bool, err error) {
	if l.q.Parent.IsZero() {
		return false, nil
	}
	key, _, found, err := l.r.mailbox.Locate(ctx, l.tenant, l.q.Parent)
	if err != nil || !found {
		return true, err
	}
	const skew = 60_000 // between the clocks of those who submit
	l.parent, l.q.Since = key.Thread, max(l.q.Since, madeAt(l.q.Parent)-skew)
	return false, nil
}

// madeAt is when an id was made, in unix milliseconds.
func madeAt(id core.ID) int64 { return int64(binary.BigEndian.Uint64(id[:]) >> 16) }

// prepare reads the threads of entries, concurrently: each once for all the runs of a page.
// Head and title do not depend on each other, so that the title may be read in vain: for
// a thread that the caller may not read. It goes nowhere then.
//
// The head stays the one of the portion that first had the thread. It is older than the
// records that are read later, as a head must be.
func (l *runLister) prepare(ctx context.Context, portion []entry) error {
	group, _ := l.r.env.Group(ctx)
	for _, e := range portion {
		if !l.mayBe(e.Listing) || l.threads[e.Thread] != nil {
			continue
		}
		t := &listedThread{key: core.ThreadKey{Tenant: l.tenant, Thread: e.Thread}}
		l.threads[e.Thread] = t
		group.Go(func(ctx context.Context) error {
			// The list may lag and has no owner: the head decides what the caller may read.
			head, err := l.r.mailbox.Head(ctx, t.key)
			if head.Exists() && !head.Deleted && readable(l.id, head) {
				t.head = head
			}
			return t.failed(err)
		})
		group.Go(func(ctx context.Context) (err error) {
			t.title, err = l.r.title(ctx, t.key)
			return err
		})
	}
	return group.Wait()
}

// failed keeps the error of a head that is damaged: it is that of the thread's entries
// alone. Other errors are returned.
func (t *listedThread) failed(err error) error {
	if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
		t.err = err
		return nil
	}
	return err
}

// mayBe reports whether a listed run may match the query, before anything is read. A
// listing of an older program lacks members and may match: it has no agent, or no start of
// the input, from which also its origin is known. One of a newer program that cannot be
// decoded has only its time, or not even that.
func (l *runLister) mayBe(n thread.Listing) bool {
	q := &l.q
	switch {
	case q.Agent != "" && n.AgentID != "" && n.AgentID != q.Agent:
		return false
	case l.parent != "" && n.At > 0 && n.Parent != l.parent:
		return false
	case n.At > 0 && (n.At < q.Since || q.Until > 0 && n.At >= q.Until):
		return false
	}
	return q.Origin == nil || n.Origin == *q.Origin || n.Origin == "" && n.Asked == ""
}

// found reports whether the query's text, which may be empty, is in what a run is called by.
func (l *runLister) found(asked, title, run, thread string) bool {
	in := func(where string) bool { return strings.Contains(strings.ToLower(where), l.text) }
	return in(asked) || in(title) || in(run) || in(thread)
}

// look reads a listed run of a prepared thread, and its size on a page, in bytes. It returns
// nil for a run that does not exist any more or that the query excludes. Entries of a
// portion are looked at concurrently: it changes nothing that they share.
func (l *runLister) look(ctx context.Context, e entry) (*core.Run, int, error) {
	t := l.threads[e.Thread]
	if t == nil || !l.mayBe(e.Listing) || t.err != nil {
		return nil, 0, failure(t)
	}
	// Without the start of the input the text may still be in it: the run is read then.
	name := e.Name[len(recordname.Activity):]
	if !t.head.Exists() || e.Asked != "" && !l.found(e.Asked, t.title, name, e.Thread) {
		return nil, 0, nil
	}
	// The name of the thread's own listing is the prefix alone, which names no run.
	runID, err := core.ParseID(name)
	if err != nil {
		return nil, 0, nil // not a name that this program writes
	}
	run, ok, err := l.r.listedRun(ctx, t.key, t.head, runID)
	if err == nil && ok {
		err = l.r.noteAsked(ctx, t.key, &run, e.Asked)
	}
	if err != nil || !ok {
		return nil, 0, err
	}
	run.ThreadTitle = t.title
	if !l.q.is(run, l.now) || !l.found(run.Asked, t.title, name, e.Thread) {
		return nil, 0, nil
	}
	const around = 1 << 10 // all but the texts
	return &run, around + len(run.Response) + len(run.Asked) + len(run.ThreadTitle), nil
}

// failure returns the error of a thread; nil: it has none.
func failure(t *listedThread) error {
	if t == nil {
		return nil
	}
	return t.err
}

// listedRun reads a run that a list names; ok is false if it does not exist any more. Its
// dispatch is only known to the head while the run is queued: it names the input of a run
// that no step has opened.
func (r *reader) listedRun(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID) (run core.Run, ok bool, err error) {
	if run, ok, err = r.mailbox.Run(ctx, key, head, runID, dispatchOf(head, runID)); ok || err != nil {
		return run, ok, err
	}
	// It may have ended before a step opened it: then only its dispatch knows.
	_, dispatch, located, err := r.mailbox.Locate(ctx, key.Tenant, runID)
	if err != nil || !located {
		return run, false, err
	}
	return r.mailbox.Run(ctx, key, head, runID, dispatch)
}

// ofThread lists the runs of one thread, from its own listings. Their names ascend with the
// time of the submission, since ids start with it. The thread's records are read as they
// are now, whereas the lists of all threads may lag: a run is listed as soon as its
// submission has returned.
func (l *runLister) ofThread(ctx context.Context, after *store.Place) (page Page[core.Run], err error) {
	key, head, err := l.r.visible(ctx, l.id, l.q.Thread)
	if err != nil {
		return Page[core.Run]{}, err
	}
	t := &listedThread{key: key, head: head}
	if t.title, err = l.r.title(ctx, key); err != nil {
		return Page[core.Run]{}, err
	}
	// All runs have the same thread, whose head is read: prepare has nothing to do.
	l.threads[key.Thread] = t
	// before is the name of the record before which the page continues.
	before := ""
	if after != nil {
		before = after.Name
	}
	w, bytes := stroll[core.Run]{look: l.look}, 0
	for range listedLooked / listedAtOnce {
		portion, err := l.r.ownListings(ctx, key, before)
		if err != nil {
			return Page[core.Run]{}, err
		}
		found, sizes, err := w.lookAt(ctx, l.r, l.tenant, portion)
		if err != nil {
			return Page[core.Run]{}, err
		}
		for i, run := range found {
			// The first run always fits: a page without any would have no cursor past it.
			if run != nil {
				if len(page.Items) == l.q.limit() || len(page.Items) > 0 && bytes+sizes[i] > maxPageBytes {
					page.Next = listedText(&store.Place{Thread: key.Thread, Name: before})
					return page, nil
				}
				page.Items, bytes = append(page.Items, *run), bytes+sizes[i]
			}
			before = portion[i].Name
		}
		if len(portion) < listedAtOnce || l.ended(portion) {
			return page, nil
		}
	}
	// As many records were read as a page may cost. The rest belongs to another page.
	page.Next = listedText(&store.Place{Thread: key.Thread, Name: before})
	return page, nil
}

// ended reports whether the next portion can only have runs from before the query's time.
// Without a Since it never does.
func (l *runLister) ended(portion []entry) bool {
	const skew = 60_000 // ids and times of one submission differ by less
	last := portion[len(portion)-1]
	return last.Listing.At > 0 && last.Listing.At < l.q.Since-skew
}

// ownListings reads a portion of a thread's own listings, newest first, before a name; with
// an empty name, from the newest. The last one of a thread is that of the thread itself.
func (r *reader) ownListings(ctx context.Context, key core.ThreadKey, before string) ([]entry, error) {
	records, err := r.store.RecordsBackwards(ctx, key, recordname.Activity, before, listedAtOnce)
	if err != nil {
		return nil, fmt.Errorf("list runs of thread %s: %w", key.Thread, err)
	}
	portion := make([]entry, len(records))
	for i, record := range records {
		portion[i].Place = store.Place{Thread: key.Thread, Name: record.Name}
		if l, err := r.records.DecodeListing(record.Payload); err == nil { // else of a newer program: the run's own record decides
			portion[i].Listing = l
		}
	}
	return portion, nil
}

// listing reads a listing of a thread; the zero Listing if it has none that can be read.
func (r *reader) listing(ctx context.Context, key core.ThreadKey, name string) (l thread.Listing, err error) {
	record, ok, err := r.store.Get(ctx, key, name)
	if err != nil || !ok {
		return thread.Listing{}, err
	}
	if l, err = r.records.DecodeListing(record.Payload); err != nil { // of a newer program, or damaged: it only serves lists
		return thread.Listing{}, nil
	}
	return l, nil
}
