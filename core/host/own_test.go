package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// endings are the ways in which a person ends a run, and what the run then reads as.
var endings = []struct {
	name string
	end  func(t *testing.T, by *host.Host, run core.ID) error
	want core.TerminationType // empty: the thread is gone
}{
	{"cancel", func(t *testing.T, by *host.Host, run core.ID) error {
		return by.CancelRun(t.Context(), local, run)
	}, core.TerminationCancelled},
	{"stop", func(t *testing.T, by *host.Host, run core.ID) error {
		stopped, err := by.CancelThread(t.Context(), local, "t1")
		if err == nil && stopped != run {
			err = errors.New("another run was stopped")
		}
		return err
	}, core.TerminationCancelled},
	{"interrupt", func(t *testing.T, by *host.Host, _ core.ID) error {
		_, err := by.InterruptThread(t.Context(), local, "t1", "")
		return err
	}, core.TerminationSuperseded},
	{"input that interrupts", func(t *testing.T, by *host.Host, _ core.ID) error {
		s := submission("t1", "echo: instead")
		s.Mode = mailbox.ModeInterrupt
		_, err := by.Submit(t.Context(), s)
		return err
	}, core.TerminationSuperseded},
	{"delete", func(t *testing.T, by *host.Host, _ core.ID) error {
		return by.DeleteThread(t.Context(), local, "t1", mailbox.ChildrenDetach)
	}, ""},
}

// The process that works on a run stops at once when the run is ended through it; through
// another one it stops at its next look.
func TestAnEndThroughTheProcessOfTheStepTakesEffectAtOnce(t *testing.T) {
	for _, tt := range endings {
		for _, own := range []bool{true, false} {
			name := tt.name + " through another process"
			if own {
				name = tt.name
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					process := r.process("w", r.store)
					by := process
					if !own {
						by = r.process("another", r.store)
					}
					receipt, err := process.Submit(t.Context(), submission("t1", "slow: 600"))
					if err != nil {
						t.Fatal(err)
					}
					over := make(chan time.Time, 1)
					go func() {
						hint, _ := r.queue.Receive()
						_ = process.WorkLocal(t.Context(), hint) // of a deleted thread it may say so
						over <- time.Now()
					}()
					time.Sleep(6100 * time.Millisecond) // behind a look
					if err := tt.end(t, by, receipt.RunID); err != nil {
						t.Fatal(err)
					}
					ended := time.Now()
					took := (<-over).Sub(ended)
					if own && took > 100*time.Millisecond || !own && (took < time.Second || took > 2*time.Second) {
						t.Errorf("the worker stopped after %s", took)
					}
					if tt.want == "" {
						return
					}
					record, err := process.ReadRun(t.Context(), local, receipt.RunID)
					if err != nil || record.Status != core.RunDone || record.Termination.Type != tt.want {
						t.Errorf("run %+v, %v", record, err)
					}
				})
			})
		}
	}
}

// Input and other writes that end nothing leave the step alone, and so do its own: the one
// that hands its run on among them, whose effects run behind it.
func TestAStepIsNotStoppedByWhatEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		receipt, err := process.Submit(t.Context(), submission("t1", "slow: 50"))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() {
			hint, _ := r.queue.Receive()
			over <- process.WorkLocal(t.Context(), hint)
		}()
		time.Sleep(time.Second)
		for _, text := range []string{"echo: one", "echo: two"} {
			if _, err := process.Submit(t.Context(), submission("t1", text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
		record, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationNatural {
			t.Errorf("run %+v, %v", record, err)
		}
		if lines := transcript(t, process, "t1"); len(lines) < 2 || !strings.HasSuffix(lines[1], " w50") {
			t.Errorf("transcript %q", lines)
		}
	})
}

// A run that is ended between its claim and its step, here before the process knows that its
// claim is stored, is not worked on until the next look.
func TestAnEndBetweenAClaimAndItsStepTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		over := &storetest.Faulty{Backend: r.store}
		process := r.process("w", over)
		over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			over.OnCommit = nil
			outcome, err := r.store.Commit(ctx, key, c)
			_, failed := process.CancelThread(t.Context(), local, "t1")
			return outcome, errors.Join(err, failed)
		}
		began := time.Now()
		receipt, err := process.Stream(t.Context(), submission("t1", "slow: 600"), host.ListenerFunc(func(core.Event) error { return nil }))
		if took := time.Since(began); err != nil || took > 100*time.Millisecond {
			t.Errorf("the stream ends after %s, %v", took, err)
		}
		record, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationCancelled {
			t.Errorf("run %+v, %v", record, err)
		}
	})
}
