package host

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

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
// A page costs the lists, then for each thread two reads: its head, and its title and
// metadata.
func (r *Host) Threads(ctx context.Context, id core.Identity, q ThreadQuery) (Page[Thread], error) {
	runs := RunQuery{Limit: q.Limit}
	if err := runs.check(); err != nil {
		return Page[Thread]{}, err
	}
	if len(q.Text) > maxSearch || !utf8.ValidString(q.Text) {
		return Page[Thread]{}, core.Errorf(core.CodeInvalid, "text to search for has %d bytes, at most %d of UTF-8 are allowed", len(q.Text), maxSearch)
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
	tenant, text := r.reads.tenantOf(id), strings.ToLower(q.Text)
	items, next, err := walk(ctx, r.reads, tenant, lists, before, runs.limit(), func(ctx context.Context, e entry) (*Thread, int, error) {
		if e.Name != recordname.Activity || q.Agent != "" && e.AgentID != q.Agent {
			return nil, 0, nil
		}
		key := core.ThreadKey{Tenant: tenant, Thread: e.Thread}
		head, err := r.mailbox.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return nil, 0, err
		}
		// A search costs the same reads: the title is in neither the list nor the head.
		about, err := r.mailbox.About(ctx, key)
		found := func(where string) bool { return strings.Contains(strings.ToLower(where), text) }
		if err != nil || !found(about.Title) && !found(e.Listing.Asked) && !found(e.Thread) {
			return nil, 0, err
		}
		info := describe(e.Thread, head, about, e.Listing)
		const around = 2 << 10 // an excerpt, names, ids and times
		return &info, around + len(about.Title) + len(about.Metadata), nil
	})
	return Page[Thread]{Items: items, Next: listedText(next)}, err
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
	group.Go(func(ctx context.Context) error {
		record, _, err := r.store.Get(ctx, key, recordname.Activity)
		if err != nil {
			return err
		}
		if listing, err = r.records.DecodeListing(record.Payload); err != nil { // none, of a newer program, or damaged
			listing = thread.Listing{}
		}
		return nil
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
