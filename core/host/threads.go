package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// maxSearch is the longest text that threads are searched for, in bytes.
const maxSearch = 200

// Threads lists the caller's threads and threads without an owner, newest activity first,
// without deleted ones. The open and queued runs are as the head has them when the page is
// read; the outcome of the last run may lag a moment.
//
// A page costs the lists, then for each thread its head, and at the same time its title and
// its first run's listing.
func (r *Host) Threads(ctx context.Context, id core.Identity, q ThreadQuery) (Page[Thread], error) {
	runs := RunQuery{Limit: q.Limit}
	if err := runs.check(); err != nil {
		return Page[Thread]{}, err
	}
	if err := checkText(q.Text); err != nil {
		return Page[Thread]{}, err
	}
	before, err := parseListed(q.After)
	if err != nil {
		return Page[Thread]{}, err
	}
	// The children of a thread have a separate list. Each child's head decides whether the
	// caller may read it.
	lists := listsOf(recordname.ThreadsList, id.User)
	if q.Parent != "" {
		if _, _, err := r.reads.visible(ctx, id, q.Parent); err != nil {
			return Page[Thread]{}, err
		}
		lists = []string{recordname.ChildrenList(q.Parent)}
	}
	// Titles and first inputs are not in the list, so that each thread of the portion is read
	// before the text decides. A search that finds little reads as much as a long page.
	tenant, text := r.reads.tenantOf(id), strings.ToLower(q.Text)
	look := func(ctx context.Context, e entry) (*Thread, int, error) {
		if e.Name != recordname.Activity || q.Agent != "" && e.AgentID != q.Agent {
			return nil, 0, nil
		}
		key := core.ThreadKey{Tenant: tenant, Thread: e.Thread}
		head, err := r.mailbox.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return nil, 0, err
		}
		// A search costs the same reads: title and first input are in neither the list nor
		// the head.
		info, err := r.reads.aboutThread(ctx, key, head, e.Listing)
		found := func(where string) bool { return strings.Contains(strings.ToLower(where), text) }
		if err != nil || !found(info.Title) && !found(info.FirstAsked) && !found(info.Asked) && !found(e.Thread) {
			return nil, 0, err
		}
		const around = 2 << 10 // excerpts, names, ids and times
		return &info, around + len(info.Title) + len(info.Metadata), nil
	}
	items, next, err := walk(ctx, r.reads, tenant, stroll[Thread]{lists: lists, before: before, limit: runs.limit(), look: look})
	return Page[Thread]{Items: items, Next: listedText(next)}, err
}

// aboutThread reads the title, the metadata and the first input of a listed thread, and
// combines them with its head and its listing.
func (r *reader) aboutThread(ctx context.Context, key core.ThreadKey, head thread.Head, l thread.Listing) (Thread, error) {
	var about thread.About
	var first string
	group, _ := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		about, err = r.mailbox.About(ctx, key)
		return err
	})
	group.Go(func(ctx context.Context) (err error) {
		first, err = r.firstAsked(ctx, key)
		return err
	})
	if err := group.Wait(); err != nil {
		return Thread{}, err
	}
	// A thread of an older program has no first input on record: its newest one stands in.
	info := describe(key.Thread, head, about, l)
	info.FirstAsked = cmp.Or(first, thread.Short(l.Asked))
	return info, nil
}

// firstAsked reads how the first input of a thread begins, from the listing of its first
// run: that is stored with the first input, and only an edit of this input changes it. A
// new title, later runs and a summary of the log leave it. A fork has listings of its own
// runs only. It is empty for a thread without a run, and for one of an older program.
func (r *reader) firstAsked(ctx context.Context, key core.ThreadKey) (string, error) {
	records, err := r.store.Records(ctx, key, recordname.Activity, recordname.Activity, 1)
	if err != nil || len(records) == 0 {
		return "", err
	}
	first, err := r.records.DecodeListing(records[0].Payload)
	if err != nil { // of a newer program, or damaged: it only serves lists
		return "", nil
	}
	return first.Asked, nil
}

// describe combines what a thread's head, its title and metadata, and its listing have of
// it. The active run is the head's: a closing run is not active, since nothing can be
// steered to it any more.
func describe(threadID string, head thread.Head, about thread.About, l thread.Listing) Thread {
	info := Thread{
		ID: threadID, Owner: head.Owner, Queued: len(head.Pending), Delayed: len(head.Delayed), Messages: int(head.Seq), Created: head.Created(),
		Title: about.Title, Metadata: about.Metadata,
		Activity: l.At, AgentID: l.AgentID, Parent: l.Parent, Last: l.Last, Excerpt: l.Excerpt, Asked: l.Asked,
	}
	if status, _ := head.RunStatus(head.Run.ID); head.Open() && status != core.RunDone {
		info.ActiveRun, info.Status = head.Run.ID, status
	}
	return info
}

// info reads the two other records that describe a thread, concurrently with each other. A
// listing that cannot be decoded is ignored: it only serves lists.
func (r *reader) info(ctx context.Context, key core.ThreadKey, head thread.Head) (Thread, error) {
	var about thread.About
	var listing thread.Listing
	group, _ := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		about, err = r.mailbox.About(ctx, key)
		return err
	})
	group.Go(func(ctx context.Context) (err error) {
		listing, err = r.listing(ctx, key, recordname.Activity)
		return err
	})
	if err := group.Wait(); err != nil {
		return Thread{}, fmt.Errorf("read thread %s: %w", key.Thread, err)
	}
	return describe(key.Thread, head, about, listing), nil
}

// CreateThread creates an empty thread that the caller owns: see mailbox.Service.Create,
// whose errors it returns. Metadata that is not an object is core.CodeInvalid.
func (r *Host) CreateThread(ctx context.Context, id core.Identity, m NewThread) (Thread, error) {
	key := core.ThreadKey{Tenant: r.reads.tenantOf(id), Thread: m.ID}
	metadata, err := merge(nil, m.Metadata)
	if err != nil {
		return Thread{}, err
	}
	head, err := r.mailbox.Create(ctx, mailbox.Creating{
		Thread: key, User: id.User, Key: m.Key, About: thread.About{Title: m.Title, Metadata: metadata},
	})
	if err != nil {
		return Thread{}, err
	}
	return r.reads.info(ctx, key, head)
}

// UpdateThread changes a thread's title and metadata. Two concurrent changes are both
// made, one after the other.
func (r *Host) UpdateThread(ctx context.Context, id core.Identity, threadID string, c ThreadChange) (Thread, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return Thread{}, err
	}
	_, head, err := r.mailbox.Describe(ctx, key, id.User, func(a thread.About) (thread.About, error) {
		if c.Title != nil {
			a.Title = *c.Title
		}
		if c.Metadata != nil {
			a.Metadata, err = merge(a.Metadata, c.Metadata)
		}
		return a, err
	})
	if err != nil {
		return Thread{}, err
	}
	return r.reads.info(ctx, key, head)
}

// Thread describes a thread. Its active run is as the head has it: the run's record would
// be another read, and may be a moment older. A closing run is not active.
func (r *Host) Thread(ctx context.Context, id core.Identity, threadID string) (Thread, error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return Thread{}, err
	}
	return r.reads.info(ctx, key, head)
}

// Mailbox reads a page of the thread's dispatches, which are open, queued or over: see
// mailbox.Service.List.
func (r *Host) Mailbox(ctx context.Context, id core.Identity, threadID string, q mailbox.ListQuery) (mailbox.ListPage, error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.ListPage{}, err
	}
	return r.mailbox.List(ctx, key, head, q)
}
