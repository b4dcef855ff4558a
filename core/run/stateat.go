package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// maxStateTail is how many records of the log are read for a state that a stream
// begins with. Steps store the state every so many turns, so that more lie between
// only where it was asked for that seldom.
const maxStateTail = 512

// StateAt returns the state of a thread after a sequence that the head covers, for
// readers of a run: what a stream shows, and the run that it is of, whose values end
// with it. It is in memory where this process has stepped the thread last, else it is
// read from the stored snapshot and the log behind it. ok is false when more of the log
// would have to be read than is reasonable, as for a run that is long over in a long
// thread: the stored snapshot has gone past it.
func (s *Stepper) StateAt(ctx context.Context, key core.ThreadKey, head thread.Head, seq uint64, run core.ID) (now state.Snapshot, of core.ID, ok bool, err error) {
	if seq == 0 {
		return now, of, true, nil
	}
	if c := s.cache.peek(key); c != nil && c.incarnation == head.Incarnation && c.seq == seq {
		return c.snapshot, c.run, true, nil
	}
	l := &loaded{step: &step{Stepper: s, Work: Work{Key: key, Head: head}, head: head}}
	from, err := l.readSnapshot(ctx, seq)
	if from.Found && from.asOf == seq && from.Run == run { // it has lost the very values that the reader knows
		from = snapshot{}
	}
	if err != nil || seq-from.asOf > maxStateTail {
		return now, of, false, err
	}
	b := &builder{fold: *from.fold(), conversation: &conversation{seq: from.asOf, run: from.Run, step: from.Step}}
	at := &b.seq
	from.skipUntil(&b.fold, at)
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
