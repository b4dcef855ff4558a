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
		if record, err = inputRecord(s.records, in, revision); err != nil {
			return err
		}
		edit := thread.Edit{ID: id, Revision: revision}
		c := commit{w: &s.writer, key: key, change: edit,
			build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
				return editRecords(s.records, next, &in, record)
			},
			over: func(ctx context.Context, head thread.Head) (bool, error) {
				return s.reads.readAs(ctx, key, head, id, in.Run, edit, messages)
			}}
		var result thread.Result
		head, result, err = c.run(ctx, head)
		switch {
		case err == nil && !result.Duplicate:
			return nil
		case c.doubt && errors.Is(err, thread.ErrStale): // a later edit counts, as if it had come after this one
			return nil
		case err == nil:
			if c.doubt {
				if stored, err := s.reads.has(ctx, key, record); err != nil || stored {
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

// editRecords are those of an edit: the input and, if it starts a run, the listing of the
// run, which has the start of the input.
func editRecords(records thread.Records, next thread.Head, in *thread.Queued, input store.Record) ([]store.Record, error) {
	if _, ok := next.RunStatus(in.Run); !ok || next.Run.ID == in.Run {
		return []store.Record{input}, nil
	}
	listing, err := inputListing(records, next, in, thread.Asked(in.Messages, core.ID{}))
	return []store.Record{input, listing}, err
}
