package mailbox

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Cancel ends a run of the thread: the open one, or a queued or delayed one. A zero run
// means the open one, else the first that is queued, never a delayed one. It returns the run
// that it ended; thread.ErrNotFound: the thread has no such run.
func (s *Service) Cancel(ctx context.Context, key core.ThreadKey, run core.ID) (core.ID, error) {
	// The open or first run is chosen once. The next attempt may find that it has ended, by
	// this very request or otherwise, and must not cancel the next run in its place.
	var dispatch core.ID
	c := commit{w: &s.writer, key: key, choose: func(head thread.Head) thread.Change {
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
		return s.reads.cancelled(ctx, key, head, run, dispatch)
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return run, err
}

// broughtBy is the dispatch that brings a run that is not open; zero if the head does not
// have it. It is remembered while the head has the run: once the head has forgotten it, only
// the dispatch leads to the audit that has its end. The record of an open run has that run's
// end.
func broughtBy(head thread.Head, run core.ID) core.ID {
	for _, d := range head.Unopened() {
		if d.Run == run {
			return d.ID
		}
	}
	return core.ID{}
}

// Retract withdraws submitted input that no step has read, by the dispatch id of its
// receipt: an entry of an inbox ends cancelled, and so does a queued run, with the input
// that waits for it. thread.ErrNotFound: it was read, it ended, or there never was such
// input. Input that a step has read is part of the log, and stays.
func (s *Service) Retract(ctx context.Context, key core.ThreadKey, id core.ID) error {
	c := commit{w: &s.writer, key: key, choose: func(head thread.Head) thread.Change {
		for _, d := range head.Unopened() {
			if d.ID == id {
				return thread.Cancel{Run: d.Run}
			}
		}
		// Not queued as a run: it is an entry of an inbox, or thread.Retract finds nothing.
		return thread.Retract{ID: id}
	}, over: func(ctx context.Context, head thread.Head) (bool, error) {
		return s.reads.retracted(ctx, key, head, id)
	}}
	_, _, err := c.run(ctx, thread.Head{})
	return err
}
