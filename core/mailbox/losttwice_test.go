package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// The write of an input is applied, its response is lost, its run ends, and so many
// requests follow that the head has forgotten it: it is not said again.
func TestInputThatTheHeadHasForgottenIsNotAcceptedTwice(t *testing.T) {
	forget := func(t *testing.T, w *world) {
		for range 17 {
			r := w.submit(t, input("x", ""))
			if _, err := w.Cancel(t.Context(), key, r.RunID); err != nil {
				t.Error(err)
			}
		}
	}
	for _, mode := range []mailbox.Mode{mailbox.ModeQueue, mailbox.ModeInterrupt, mailbox.ModeReject} {
		for _, times := range []int{0, 1} { // so often it cannot be looked up
			t.Run(fmt.Sprintf("%s, looked up at try %d", mode, times+1), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { forgotten(t, mode, times, forget) })
			})
		}
	}
	t.Run("it was cancelled", func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(next thread.Head) {
			if _, err := w.Cancel(t.Context(), key, next.Pending[0].Run); err != nil {
				t.Error(err)
			}
			forget(t, w)
		})
		receipt, err := w.Submit(t.Context(), input("one", ""))
		if got := w.status(t, receipt); err != nil || got != "done cancelled" || len(w.head(t).Pending) != 0 {
			t.Errorf("its run is %q, %v", got, err)
		}
	})
	t.Run("it was not applied", func(t *testing.T) {
		w := newWorld(t)
		w.drops(func() { forget(t, w) })
		receipt, err := w.Submit(t.Context(), input("one", ""))
		if got := w.status(t, receipt); err != nil || receipt.Duplicate || got != "created" {
			t.Errorf("receipt %+v, %v, its run is %q", receipt, err, got)
		}
	})
}

// forgotten submits such an input, in a mode, where its run is not found at once.
func forgotten(t *testing.T, mode mailbox.Mode, times int, forget func(*testing.T, *world)) {
	w := newWorld(t)
	w.lose(t, func(next thread.Head) {
		d := next.Pending[0]
		head := w.claim(t)
		w.end(t, head)
		w.recordEnd(t, mailbox.Receipt{RunID: d.Run, DispatchID: d.ID}, core.Termination{Type: core.TerminationNatural}, 9)
		forget(t, w)
		w.failGets(times)
	})
	s := input("one", "")
	s.Mode = mode
	receipt, err := w.Submit(t.Context(), s)
	if err != nil || !receipt.Duplicate || receipt.Running {
		t.Errorf("receipt %+v, %v; want one that was accepted before", receipt, err)
	}
	if head := w.head(t); len(head.Pending) != 0 || head.Open() {
		t.Errorf("it is queued again: %+v", head.Pending)
	}
	if got := w.status(t, receipt); got != "done natural_end" {
		t.Errorf("its run is %q", got)
	}
}

// failGets makes so many reads of records fail.
func (w *world) failGets(times int) {
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		if times--; times >= 0 {
			return store.Record{}, false, errors.New("no route to host")
		}
		return w.store.Backend.Get(ctx, key, name)
	}
}
