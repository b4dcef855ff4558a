package host_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// besideASuspect works on a thread while a suspect runs for two seconds, and
// returns the error. The first reads of the thread's head fail, so many of them.
func (r *rig) besideASuspect(t *testing.T, unreadable int32, text string, within time.Duration) error {
	t.Helper()
	suspicious(t, r, "s")
	var left atomic.Int32 // of the reads of a's head that fail
	process := r.process("w", &storetest.Faulty{Backend: r.store, OnHead: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		if key.Thread == "a" && left.Add(-1) >= 0 {
			return thread.Head{}, errors.New("connection refused")
		}
		return r.store.Head(ctx, key)
	}})
	submitAll(t, process, text, "a")
	r.queue.Batch(1000)
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := process.WorkLocal(t.Context(), wakeUps("s")[0]); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(time.Millisecond)
	left.Store(unreadable)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err := process.WorkLocal(ctx, wakeUps("a")[0])
	wait.Wait()
	return err
}

// A hint that did not come to its turn is not the queue's failure, which would
// hide its message for minutes: it is acknowledged once it is sent again.
func TestAHintWhoseTurnDoesNotComeIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, 0, "hi", time.Second)
		if hints := r.queue.Messages(); err != nil || len(hints) != 1 || hints[0].Hint.Thread != "a" || r.head(wakeUps("a")[0].Key()).Fence != 0 {
			t.Errorf("error %v and the hints %+v; want none, and one of thread a", err, hints)
		}
	})
}

func TestAHeadThatCannotBeReadBeforeItsTurnIsLeftToTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, 100, "hi", time.Minute)
		if hints := r.queue.Messages(); err != nil || len(hints) != 1 || hints[0].Hint.Thread != "a" || r.head(wakeUps("a")[0].Key()).Fence != 0 {
			t.Errorf("error %v and the hints %+v; want none, and one of thread a", err, hints)
		}
	})
}

// One that can be read later is claimed then, by the same hint.
func TestAHeadThatCanBeReadLaterIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, 1, "hi", time.Minute)
		if hints := r.queue.Messages(); err != nil || len(hints) != 0 || r.head(wakeUps("a")[0].Key()).Fence != 1 {
			t.Errorf("error %v and the hints %+v, want neither", err, hints)
		}
	})
}

// Time that went by before a step says nothing about its run: only one that has
// a whole invocation to itself ends for having made nothing of it.
func TestAStepThatWaitedForItsTurnHasNoWholeInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, 0, "slow: 600", 30*time.Second)
		if head := r.head(wakeUps("a")[0].Key()); err != nil || !head.Ready() || head.Run.Status != thread.Running || head.Run.Attempts != 1 {
			t.Errorf("error %v, and the run is %+v; want it given back", err, head.Run)
		}
	})
}
