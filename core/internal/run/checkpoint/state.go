package checkpoint

import (
	"context"
	"math"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
)

// maxStateTail is how many records of the log are read for a state that a stream
// starts with. Steps store the state every so many turns, so that more records lie
// between only if it is configured that seldom.
const maxStateTail = 512

// State returns the state of a thread as it was after a sequence of its log, which the
// head covers: for readers, bound to no agent's keys. It costs nothing for a thread
// that this process stepped last. Else the stored snapshot is read, and the log after
// it: all of the log up to seq, when the snapshot has gone past that.
func (r *Reader) State(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64) (state.Snapshot, error) {
	now, _, _, err := r.stateAfter(ctx, At{Key: key, Head: &head}, seq, core.ID{}, math.MaxUint64)
	return now, err
}

// StateAt is State for a stream, which can do without: ok is false when more than 512
// records of the log would have to be read, as for a run that is long over in a long
// thread. The stream is a run's: its values are there where the sequence is its own. It
// also returns the run that the state is of, whose values end with it.
func (r *Reader) StateAt(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64, reads core.ID) (now state.Snapshot, of core.ID, ok bool, err error) {
	return r.stateAfter(ctx, At{Key: key, Head: &head}, seq, reads, maxStateTail)
}

// stateAfter folds the state after a sequence, from at most so many records of the log:
// with the values of the run there, unless another one reads it.
func (r *Reader) stateAfter(ctx context.Context, at At, seq uint64, reads core.ID, most uint64) (now state.Snapshot, of core.ID, ok bool, err error) {
	if seq == 0 {
		return now, of, true, nil
	}
	if c := r.cache.peek(at.Key); c != nil && c.incarnation == at.Head.Incarnation && c.Seq == seq {
		return c.Snapshot, c.Run, true, nil
	}
	from, err := r.readSnapshot(ctx, at, seq)
	if from.Found && from.asOf == seq && (reads.IsZero() || reads == from.Run) { // as the next run found it: those values had ended
		from = snapshot{}
	}
	if err != nil || seq-from.asOf > most {
		return now, of, false, err
	}
	// Values may be newer than the snapshot's manifest: see foldTail. Unlike that, it
	// needs no window, so that the log is read forwards.
	b := buildFrom(from, from.asOf)
	from.skipUntil(&b.fold, &b.c.Seq)
	for entry, err := range threadlog.Entries(ctx, r.store, r.records, at.Key, from.asOf+1, seq) {
		if err != nil {
			return now, of, false, err
		}
		if err := b.add(&entry.Entry); err != nil {
			return now, of, false, err
		}
	}
	return b.fold.Snapshot(), b.c.Run, true, nil
}
