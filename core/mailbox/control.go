package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Cancel ends a run of the thread: the open one, or a queued one. A zero run
// means whatever is open, else what is queued first. It returns the run that it
// ended; thread.ErrNotFound when there is none.
func (s *Service) Cancel(ctx context.Context, key core.ThreadKey, run core.ID) (core.ID, error) {
	// Which run is meant is chosen for the head that is written: the open one may end
	// while this is on its way, and the next one must not be cancelled in its place
	// when a run was named.
	ended := run
	c := commit{Service: s, key: key, choose: func(head thread.Head) thread.Change {
		if ended = run; run.IsZero() {
			switch {
			case head.Open():
				ended = head.Run.ID
			case len(head.Pending) > 0:
				ended = head.Pending[0].Run
			}
		}
		return thread.Cancel{Run: ended}
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return ended, err
}

// maxEdits is how many revisions an edit tries: each may be taken by what a
// refused edit left behind. A revision is a record of its own, never overwritten: a
// step may be reading the one before it, and what counts is the one that the head
// names.
const maxEdits = 16

// Edit replaces submitted input that no step has read, by the dispatch id of its
// receipt. Its messages are checked as a Submission's are. thread.ErrNotFound:
// it was read, it ended, or there never was such input.
func (s *Service) Edit(ctx context.Context, key core.ThreadKey, id core.ID, messages []core.Message) error {
	if err := checkMessages(messages); err != nil {
		return err
	}
	// The revision that counts now is read for what an edit keeps: agent, ids, request,
	// what it supersedes. Only the messages are new.
	head, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	first, ok := head.Queues(id)
	if !ok {
		return fmt.Errorf("unread input %s of thread %s: %w", id, key, thread.ErrNotFound)
	}
	old, ok, err := s.store.Get(ctx, key, store.InputName(id, first))
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
	for revision := first + 1; revision <= first+maxEdits; revision++ {
		var result thread.Result
		head, result, err = s.Commit(ctx, key, head, thread.Edit{ID: id, Revision: revision}, func(thread.Head, thread.Result) ([]store.Record, error) {
			record, err := s.inputRecord(in, revision)
			return []store.Record{record}, err
		})
		if result.Duplicate { // this revision may be another edit's, with another text
			err = fmt.Errorf("revision %d of input %s: %w", revision, id, thread.ErrStale)
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, thread.ErrStale) {
			return err
		}
	}
	return err
}

// Retract takes back submitted input that no step has read, by the dispatch id of its
// receipt: an entry of an inbox ends cancelled, and so does a queued run, with the
// input that waits for it. thread.ErrNotFound: it was read, it ended, or there never
// was such input. What a step has read is part of the log, and stays.
func (s *Service) Retract(ctx context.Context, key core.ThreadKey, id core.ID) error {
	c := commit{Service: s, key: key, choose: func(head thread.Head) thread.Change {
		for _, d := range head.Pending {
			if d.ID == id {
				return thread.Cancel{Run: d.Run}
			}
		}
		return thread.Retract{ID: id}
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return err
}
