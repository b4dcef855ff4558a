package mailbox_test

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// Of several calls with one id a decision by that id is on the first that is not decided.
func TestDecisionsOnCallsWithOneID(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	same := func(k *core.Ticket) { k.CallID = "c" }
	tickets := []core.Ticket{asks(0, same), asks(1, same), asks(2, same)}
	w.suspend(t, w.calls(t, w.claim(t), true, tickets...), thread.Wait, tickets...)
	w.decide(t, deciding("s1", "d1"))
	for i, want := range []string{"s0", "s2"} {
		if got := w.decide(t, deciding("c", "e"+want)); got.SuspensionID != want || got.CallID != "c" {
			t.Errorf("decision %d is on %s of %s, want %s", i, got.SuspensionID, got.CallID, want)
		}
	}
	if got, err := w.Decide(t.Context(), key, deciding("c", "d4")); !errors.Is(err, thread.ErrDecided) {
		t.Errorf("a fourth decision: %+v, %v; want %v", got, err, thread.ErrDecided)
	}
}

// Where the log has no turn at a ticket's sequence, nothing is known of its call.
func TestDecisionOnACallWhoseTurnIsDamaged(t *testing.T) {
	w, head := waiting(t, asks(0))
	w.put(t, store.Record{Name: store.LogName(head.Run.Base - 1), Fence: 9, Payload: encoded(t, thread.Entry{Run: head.Run.ID, Step: 1})})
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeCorrupt || err.Error() != "log of t/t1 has no turn at 1: "+store.ErrCorrupt.Error() {
		t.Errorf("%v, want code corrupt", err)
	}
}

// Between the look at a ticket and the write the call may have been decided, and wait anew:
// the decision is not on that.
func TestDecisionIsNotTakenOverToTheNextSuspension(t *testing.T) {
	w, _ := waiting(t, asks(0))
	w.before(func() {
		w.decide(t, deciding("s0", "other"))
		w.suspend(t, w.claim(t), thread.Wait, asks(0, func(k *core.Ticket) { k.Suspension.ID = "s0b" }))
	})
	got, err := w.Decide(t.Context(), key, deciding("s0", "d"))
	if err == nil || w.head(t).Tickets[0].Decision != 0 {
		t.Errorf("%+v, %v with the tickets %+v; want none decided", got, err, w.head(t).Tickets)
	}
}

// A program that checks no decisions stores whatever is said.
func TestDecisionThatNobodyChecks(t *testing.T) {
	w, _ := waiting(t, asks(0))
	w.Service = newWorldOver(t, w)
	if got := w.decide(t, deciding("c0", "d", says(`{"approved":"perhaps"}`))); got.Duplicate || got == (mailbox.Decided{}) {
		t.Errorf("%+v, want it taken", got)
	}
}
