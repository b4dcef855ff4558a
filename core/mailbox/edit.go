package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// maxEdits is how many revisions an edit tries: each may be used by the record of a refused
// edit. Each revision is a separate record, never overwritten: a step may be reading the one
// before it, and the one that counts is the one that the head names.
const maxEdits = 16

// Edit replaces the messages of submitted input that no step has read, by the dispatch id of
// its receipt. They are checked as a Submission's are. thread.ErrNotFound: it was read, it
// ended, or there never was such input. thread.ErrStale: later edits were made at the same
// time, with other messages.
func (s *Service) Edit(ctx context.Context, key core.ThreadKey, id core.ID, messages []core.Message) error {
	if err := checkMessages(messages); err != nil {
		return err
	}
	// The revision that counts now is read for what an edit keeps: agent, ids, request, what
	// it supersedes. Only the messages are new.
	head, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	first, ok := head.Queues(id)
	if !ok {
		return fmt.Errorf("unread input %s of thread %s: %w", id, key, thread.ErrNotFound)
	}
	old, ok, err := s.store.Get(ctx, key, recordname.Input(id, first))
	if err != nil {
		return fmt.Errorf("read input %s at revision %d: %w", id, first, err)
	}
	if !ok {
		return fmt.Errorf("input %s at revision %d: %w", id, first, thread.ErrNotFound)
	}
	in, err := s.records.DecodeWholeQueued(old.Payload)
	if err != nil {
		return err
	}
	in.Messages = messages
	var record store.Record
	// A refused edit leaves its record under the revision that it tried, so that the next one
	// is tried then. The store reports whether a revision is free when the record is put.
	for revision := first + 1; revision <= first+maxEdits; revision++ {
		if record, err = inputRecord(s.records, &in, revision); err != nil {
			return err
		}
		edit := thread.Edit{ID: id, Revision: revision}
		c := commit{w: &s.writer, key: key, change: edit,
			build: func(thread.Head, thread.Result) ([]store.Record, error) { return []store.Record{record}, nil },
			over: func(ctx context.Context, head thread.Head) (bool, error) {
				return s.reads.readAs(ctx, key, head, id, in.Run, edit, messages)
			}}
		var result thread.Result
		head, result, err = c.run(ctx, head)
		switch {
		case err == nil && !result.Duplicate:
			s.listAgain(ctx, key, head, &in, revision)
			return nil
		case c.doubt && errors.Is(err, thread.ErrStale): // a later edit counts, as if it had come after this one
			return nil
		case err == nil:
			if c.doubt {
				stored, err := s.reads.has(ctx, key, record)
				if stored { // only the response of the edit was lost
					s.listAgain(ctx, key, head, &in, revision)
				}
				if err != nil || stored {
					return err
				}
			}
			err = fmt.Errorf("revision %d of input %s: %w", revision, id, thread.ErrStale)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, thread.ErrStale):
			return err
		}
	}
	return err // each revision is another edit's, with another text
}

// listAgain lists the run of an edited input by its new text, after the edit: a refused edit
// must not be listed. A listing only serves lists, so that its failure is not the edit's.
// An edit whose response was lost is listed too, unless the head has a later one, which is
// listed by itself, or no longer has the run.
func (s *Service) listAgain(ctx context.Context, key core.ThreadKey, head thread.Head, in *thread.Queued, revision uint32) {
	if _, ok := head.RunStatus(in.Run); !ok { // input for the inbox of another run
		return
	}
	counts, unread := head.Queues(in.Dispatch)
	if !unread {
		counts = head.Run.Revision
	}
	if counts != revision {
		return
	}
	listing, err := inputListing(s.records, head, in, thread.Asked(in.Messages, core.ID{}))
	if err == nil {
		err = s.store.Put(ctx, key, listing)
	}
	if err != nil {
		s.log.WarnContext(ctx, "run of edited input is listed by its old text", "tenant", key.Tenant, "thread", key.Thread, "run", in.Run, "error", err)
	}
}
