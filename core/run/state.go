package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// State returns the state of a thread as it was after a sequence of its log, which the
// head covers: for readers, bound to no agent's keys. It costs nothing for a thread
// that this process stepped last, else the reads of a cold step.
func (s *Stepper) State(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64) (state.Snapshot, error) {
	if c := s.cache.get(key, &head); c != nil && c.seq == seq {
		return c.snapshot, nil
	}
	l := loaded{step: &step{Stepper: s, Work: Work{Key: key, Head: head}, id: head.Run.ID, head: head}}
	c, err := l.readBack(ctx, seq)
	if err != nil {
		return state.Snapshot{}, err
	}
	return c.snapshot, nil
}
