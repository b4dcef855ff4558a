package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Cancel ends a run of the thread: the open one, or a queued or delayed one. A zero run
// means whatever is open, else what is queued first, never a delayed one. It returns the
// run that it ended; thread.ErrNotFound when there is none.
func (s *Service) Cancel(ctx context.Context, key core.ThreadKey, run core.ID) (core.ID, error) {
	// Whatever is open or first is chosen once: the next try may find that the run has
	// ended, by this very request or otherwise, and the next one must not be cancelled in
	// its place.
	var dispatch core.ID
	c := commit{Service: s, key: key, choose: func(head thread.Head) thread.Change {
		if run.IsZero() {
			switch {
			case head.Open():
				run = head.Run.ID
			case len(head.Pending) > 0:
				run = head.Pending[0].Run
			}
		}
		if d := broughtBy(head, run); !d.IsZero() {
			dispatch = d
		}
		return thread.Cancel{Run: run}
	}, over: func(ctx context.Context, head thread.Head) (bool, error) {
		return s.cancelled(ctx, key, head, run, dispatch)
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return run, err
}

// broughtBy is the dispatch that brings a run, if the head has it.
func broughtBy(head thread.Head, run core.ID) core.ID {
	if head.Open() && head.Run.ID == run {
		return head.Run.Dispatch
	}
	for _, d := range head.Unopened() {
		if d.Run == run {
			return d.ID
		}
	}
	return core.ID{}
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
	var record store.Record
	for revision := first + 1; revision <= first+maxEdits; revision++ {
		if record, err = s.inputRecord(in, revision); err != nil {
			return err
		}
		edit := thread.Edit{ID: id, Revision: revision}
		c := commit{Service: s, key: key, change: edit,
			build: func(thread.Head, thread.Result) ([]store.Record, error) { return []store.Record{record}, nil },
			over: func(ctx context.Context, head thread.Head) (bool, error) {
				return s.readAs(ctx, key, head, id, in.Run, edit, messages)
			}}
		var result thread.Result
		head, result, err = c.run(ctx, head)
		switch {
		case err == nil && !result.Duplicate:
			return nil
		case c.doubt && errors.Is(err, thread.ErrStale): // a later edit stands, as if it had come behind this one
			return nil
		case err == nil:
			if c.doubt {
				if stands, err := s.stands(ctx, key, record); err != nil || stands {
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

// Retract takes back submitted input that no step has read, by the dispatch id of its
// receipt: an entry of an inbox ends cancelled, and so does a queued run, with the
// input that waits for it. thread.ErrNotFound: it was read, it ended, or there never
// was such input. What a step has read is part of the log, and stays.
func (s *Service) Retract(ctx context.Context, key core.ThreadKey, id core.ID) error {
	c := commit{Service: s, key: key, choose: func(head thread.Head) thread.Change {
		for _, d := range head.Unopened() {
			if d.ID == id {
				return thread.Cancel{Run: d.Run}
			}
		}
		return thread.Retract{ID: id}
	}, over: func(ctx context.Context, head thread.Head) (bool, error) {
		return s.retracted(ctx, key, head, id)
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return err
}
