package runtime_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// besideASuspect works on a thread while a suspect runs for two seconds, and
// returns the error.
func (r *rig) besideASuspect(t *testing.T, over *noHead, text string, within time.Duration) error {
	t.Helper()
	suspicious(t, r, "s")
	process := r.process("w", over)
	submitAll(t, process, text, "a")
	r.queue.batch(1000)
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := process.WorkLocal(t.Context(), wakeUps("s")[0]); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(time.Millisecond)
	over.begin()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err := process.WorkLocal(ctx, wakeUps("a")[0])
	wait.Wait()
	return err
}

// noHead is a store that cannot read the head of thread a so often, once it
// begins.
type noHead struct {
	store.Backend
	mu     sync.Mutex // guards what follows: the suspect's step reads too
	begins bool
	fails  int
}

func (n *noHead) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begins = true
}

// fail reports whether this read of the head is one that fails.
func (n *noHead) fail(key core.ThreadKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begins || n.fails == 0 || key.Thread != "a" {
		return false
	}
	n.fails--
	return true
}

func (n *noHead) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	if n.fail(key) {
		return thread.Head{}, errors.New("connection refused")
	}
	return n.Backend.Head(ctx, key)
}

// A hint that did not come to its turn is not the queue's failure, which would
// hide its message for minutes: it is acknowledged once it is sent again.
func TestAHintWhoseTurnDoesNotComeIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, &noHead{Backend: r.store}, "hi", time.Second)
		if hints := r.queue.items; err != nil || len(hints) != 1 || hints[0].hint.Thread != "a" || r.head(wakeUps("a")[0].Key()).Fence != 0 {
			t.Errorf("error %v and the hints %+v; want none, and one of thread a", err, hints)
		}
	})
}

func TestAHeadThatCannotBeReadBeforeItsTurnIsLeftToTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, &noHead{Backend: r.store, fails: 100}, "hi", time.Minute)
		if hints := r.queue.items; err != nil || len(hints) != 1 || hints[0].hint.Thread != "a" || r.head(wakeUps("a")[0].Key()).Fence != 0 {
			t.Errorf("error %v and the hints %+v; want none, and one of thread a", err, hints)
		}
	})
}

// Time that went by before a step says nothing about its run: only one that has
// a whole invocation to itself ends for having made nothing of it.
func TestAStepThatWaitedForItsTurnHasNoWholeInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		err := r.besideASuspect(t, &noHead{Backend: r.store}, "slow: 600", 30*time.Second)
		if head := r.head(wakeUps("a")[0].Key()); err != nil || !head.Ready() || head.Run.Status != thread.Running || head.Run.Attempts != 1 {
			t.Errorf("error %v, and the run is %+v; want it given back", err, head.Run)
		}
	})
}
