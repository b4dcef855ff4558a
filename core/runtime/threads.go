package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// MaxSearch is how long a text may be that threads are searched for, in bytes.
const MaxSearch = 200

// Threads lists the caller's threads and those that belong to nobody, newest activity
// first. What runs and what is queued is as the head says when the page is read; what
// the last run came to may lag a moment behind. A deleted thread is not there.
//
// A page costs the list, then for each of its threads the head and what is said of it.
func (r *Runtime) Threads(ctx context.Context, id core.Identity, q ThreadQuery) (ThreadPage, error) {
	runs := RunQuery{Limit: q.Limit}
	if err := runs.check(); err != nil {
		return ThreadPage{}, err
	}
	if len(q.Text) > MaxSearch || !utf8.ValidString(q.Text) {
		return ThreadPage{}, core.Errorf(core.CodeInvalid, "text to search for has %d bytes, at most %d of UTF-8 are allowed", len(q.Text), MaxSearch)
	}
	lists := listsOf(store.ThreadsList, id.User)
	if q.Parent != "" {
		if _, _, err := r.reads.visible(ctx, id, q.Parent); err != nil {
			return ThreadPage{}, err
		}
		lists = []string{store.ChildrenList(q.Parent)}
	}
	tenant, text := r.reads.tenantOf(id), strings.ToLower(q.Text)
	items, next, err := walk(ctx, r.reads, tenant, lists, q.Before, runs.limit(), func(ctx context.Context, e entry) (*ThreadInfo, int, error) {
		if e.Name != store.ActivityName || q.Agent != "" && e.AgentID != q.Agent {
			return nil, 0, nil
		}
		key := core.ThreadKey{Tenant: tenant, Thread: e.Thread}
		head, err := r.mailbox.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return nil, 0, err
		}
		about, err := r.mailbox.About(ctx, key)
		found := func(where string) bool { return strings.Contains(strings.ToLower(where), text) }
		if err != nil || !found(about.Title) && !found(e.Listing.Asked) && !found(e.Thread) {
			return nil, 0, err
		}
		info := describe(e.Thread, head, about, e.Listing)
		const around = 2 << 10 // an excerpt, names, ids and times
		return &info, around + len(about.Title) + len(about.Metadata), nil
	})
	return ThreadPage{Threads: items, Next: next}, err
}

// describe is how a thread stands, of its head, of what is said of it, and of its
// listing.
func describe(threadID string, head thread.Head, about thread.About, l thread.Listing) ThreadInfo {
	info := ThreadInfo{
		ID: threadID, Owner: head.Owner, Queued: len(head.Pending), Delayed: len(head.Delayed), Messages: int(head.Seq), Created: head.Created(),
		Title: about.Title, Metadata: about.Metadata,
		Activity: l.At, AgentID: l.AgentID, Parent: l.Parent, Last: l.Last, Excerpt: l.Excerpt, Asked: l.Asked,
	}
	if status, ok := head.RunStatus(head.Run.ID); ok && head.Open() && status != core.RunDone {
		info.ActiveRun, info.Status = head.Run.ID, status
	}
	return info
}

// info reads how a thread stands whose head was read.
func (r *reader) info(ctx context.Context, key core.ThreadKey, head thread.Head) (ThreadInfo, error) {
	var about thread.About
	var listing thread.Listing
	group, _ := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		about, err = r.mailbox.About(ctx, key)
		return err
	})
	group.Go(func(ctx context.Context) error {
		record, ok, err := r.store.Get(ctx, key, store.ActivityName)
		if err != nil || !ok {
			return err
		}
		if listing, err = r.records.DecodeListing(record.Payload); err != nil { // of a newer program, or damaged: it is a note
			listing = thread.Listing{}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return ThreadInfo{}, fmt.Errorf("read thread %s: %w", key.Thread, err)
	}
	return describe(key.Thread, head, about, listing), nil
}

// CreateThread makes a thread of the caller's that nothing was said on yet: see
// mailbox.Service.Create.
func (r *Runtime) CreateThread(ctx context.Context, id core.Identity, m ThreadMake) (ThreadInfo, error) {
	key := core.ThreadKey{Tenant: r.reads.tenantOf(id), Thread: m.ID}
	metadata, err := merge(nil, m.Metadata)
	if err != nil {
		return ThreadInfo{}, err
	}
	head, err := r.mailbox.Create(ctx, mailbox.Creating{
		Thread: key, User: id.User, Key: m.Key, About: thread.About{Title: m.Title, Metadata: metadata},
	})
	if err != nil {
		return ThreadInfo{}, err
	}
	return r.reads.info(ctx, key, head)
}

// UpdateThread changes what is said of a thread. Two changes at the same time are both
// made.
func (r *Runtime) UpdateThread(ctx context.Context, id core.Identity, threadID string, c ThreadChange) (ThreadInfo, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return ThreadInfo{}, err
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
		return ThreadInfo{}, err
	}
	return r.reads.info(ctx, key, head)
}

// merge applies a JSON merge patch (RFC 7396) to metadata, an object or nil. The result
// has no blanks, and its keys are in order; nil: there is none.
func merge(metadata, patch json.RawMessage) (json.RawMessage, error) {
	if patch == nil {
		return metadata, nil
	}
	var change any
	if err := decodeJSON(patch, &change); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "metadata is not JSON: %w", err)
	}
	if change == nil {
		return nil, nil
	}
	if _, ok := change.(map[string]any); !ok {
		return nil, core.Errorf(core.CodeInvalid, "metadata must be an object, or null")
	}
	var was any
	if metadata != nil {
		if err := decodeJSON(metadata, &was); err != nil {
			return nil, core.Errorf(core.CodeCorrupt, "stored metadata is not JSON: %w", err)
		}
	}
	now := merged(was, change).(map[string]any)
	if len(now) == 0 {
		return nil, nil
	}
	return core.EncodeJSON(now)
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(b []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("it goes on behind its value")
	}
	return nil
}

func merged(was, change any) any {
	changes, ok := change.(map[string]any)
	if !ok {
		return change
	}
	object, ok := was.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
			continue
		}
		object[name] = merged(object[name], value)
	}
	return object
}

// Thread reads how a thread stands. What runs is of its head alone: the run's record
// would be another read, and may be a moment older. A run that closes is over for
// whoever asks, since nothing can be steered to it any more; so it is not active.
func (r *Runtime) Thread(ctx context.Context, id core.Identity, threadID string) (ThreadInfo, error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return ThreadInfo{}, err
	}
	return r.reads.info(ctx, key, head)
}

// Mailbox reads a page of what is open, queued and over on a thread: see
// mailbox.Service.List.
func (r *Runtime) Mailbox(ctx context.Context, id core.Identity, threadID string, q mailbox.ListQuery) (mailbox.ListPage, error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.ListPage{}, err
	}
	return r.mailbox.List(ctx, key, head, q)
}
