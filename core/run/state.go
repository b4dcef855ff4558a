package run

import (
	"context"
	"math"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// maxStateTail is how many records of the log are read for a state that a stream
// begins with. Steps store the state every so many turns, so that more lie between
// only where it was asked for that seldom.
const maxStateTail = 512

// State returns the state of a thread as it was after a sequence of its log, which the
// head covers: for readers, bound to no agent's keys. It costs nothing for a thread
// that this process stepped last. Else the stored snapshot is read, and the log behind
// it: all of the log up to seq, when the snapshot has gone past that.
func (s *Stepper) State(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64) (state.Snapshot, error) {
	now, _, _, err := s.stateAfter(ctx, key, head, seq, core.ID{}, math.MaxUint64)
	return now, err
}

// StateAt is State for a stream, which can do without: ok is false when more than 512
// records of the log would have to be read, as for a run that is long over in a long
// thread. The stream is a run's: its values are there where the sequence is its own. It
// also returns the run that the state is of, whose values end with it.
func (s *Stepper) StateAt(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64, reads core.ID) (now state.Snapshot, of core.ID, ok bool, err error) {
	return s.stateAfter(ctx, key, head, seq, reads, maxStateTail)
}

// stateAfter folds the state after a sequence, from at most so many records of the log:
// with the values of the run there, unless another one reads it.
func (s *Stepper) stateAfter(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64, reads core.ID, most uint64) (now state.Snapshot, of core.ID, ok bool, err error) {
	if seq == 0 {
		return now, of, true, nil
	}
	if c := s.cache.peek(key); c != nil && c.incarnation == head.Incarnation && c.seq == seq {
		return c.snapshot, c.run, true, nil
	}
	l := &loaded{step: &step{Stepper: s, Key: key, head: head}}
	from, err := l.readSnapshot(ctx, seq)
	if from.Found && from.asOf == seq && (reads.IsZero() || reads == from.Run) { // as the next run found it: those values had ended
		from = snapshot{}
	}
	if err != nil || seq-from.asOf > most {
		return now, of, false, err
	}
	// Values may be newer than the snapshot's manifest: see readBack. Unlike that, it
	// needs no window, so that the log is read forwards.
	b := &builder{fold: *from.fold(), conversation: &conversation{seq: from.asOf, run: from.Run, step: from.Step}}
	from.skipUntil(&b.fold, &b.seq)
	for entry, err := range store.Entries(ctx, s.store, s.records, key, from.asOf+1, seq) {
		if err != nil {
			return now, of, false, err
		}
		if err := b.add(entry.Entry); err != nil {
			return now, of, false, err
		}
	}
	return b.fold.Snapshot(), b.run, true, nil
}
