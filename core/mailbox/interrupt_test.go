package mailbox_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

func (w *world) interrupt(t *testing.T, dedupe string) mailbox.Receipt {
	t.Helper()
	came, err := w.Interrupt(t.Context(), key, "ann", dedupe)
	if err != nil {
		t.Fatal(err)
	}
	return came
}

func TestInterruptEndsWhatIsOpenAndQueued(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	w.claim(t)
	steered := w.submit(t, input("and", mailbox.ModeSteer))
	two, three := w.submit(t, input("two", "")), w.submit(t, input("three", ""))
	w.queue.Clear()
	if diff := cmp.Diff(mailbox.Receipt{RunID: one.RunID, Superseded: 2}, w.interrupt(t, "")); diff != "" {
		t.Errorf("interrupt (-want +got):\n%s", diff)
	}
	head := w.head(t)
	if head.Epoch != 1 || head.Run.Status != thread.Closing || head.Run.Reason != thread.ReasonSuperseded || len(head.Pending)+len(head.Inbox) != 0 {
		t.Errorf("the head is %+v", head)
	}
	for _, tt := range []struct {
		name    string
		receipt mailbox.Receipt
		want    string
	}{{"the open run", one, "done superseded"}, {"the first of the queue", two, "done superseded"}, {"the second", three, "done superseded"}} {
		if got := w.status(t, tt.receipt); got != tt.want {
			t.Errorf("%s is %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, ok := head.Queues(steered.DispatchID); ok {
		t.Error("input that was steered to the run is still queued")
	}
	// The holder closes it: no hint takes the run from under it. The run that is closing
	// is not interrupted twice.
	if lines := w.queue.Lines(); lines != nil {
		t.Errorf("hints %v beside a live claim", lines)
	}
	if again := w.interrupt(t, ""); !again.RunID.IsZero() || again.Superseded != 0 {
		t.Errorf("an interrupt of a run that closes comes to %+v", again)
	}
}

func TestInterruptIsRefused(t *testing.T) {
	w := newWorld(t)
	refused := func(user string, code core.Code) {
		t.Helper()
		if _, err := w.Interrupt(t.Context(), key, user, ""); core.CodeOf(err) != code {
			t.Errorf("interrupt by %s: %v, want code %s", user, err, code)
		}
	}
	refused("ann", core.CodeNotFound) // there is no thread
	w.submit(t, input("one", ""))
	refused("bob", core.CodeForbidden)
	w.end(t, w.claim(t))
	refused("ann", core.CodeNotFound) // nothing is open
	w.commit(t, thread.Delete{Owner: "ann"})
	refused("ann", core.CodeDeleted)
}

// A client that tries again must not end what was submitted between its two tries.
func TestInterruptHappensOnceForAKey(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.interrupt(t, "k")
	two := w.submit(t, input("two", ""))
	if !slices.Contains(w.head(t).Recent, 2308797235424244521) { // it is stored, so that its form must not change
		t.Errorf("the head remembers %v", w.head(t).Recent)
	}
	if again := w.interrupt(t, "k"); again != (mailbox.Receipt{Duplicate: true}) {
		t.Errorf("again: %+v, want a duplicate", again)
	}
	if got := w.status(t, two); got != "created" {
		t.Errorf("what came between the tries is %q", got)
	}
	if other := w.interrupt(t, "k2"); other.Duplicate || other.Superseded != 1 {
		t.Errorf("under another key: %+v", other)
	}
}

// The response of the write is lost, and before it is looked for somebody else writes
// and hides it: nothing that came since is ended, and the caller is told what was.
func TestInterruptWhoseResponseIsLostHappensOnce(t *testing.T) {
	for _, dedupe := range []string{"", "k"} {
		t.Run("key "+dedupe, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			w.submit(t, input("and one", ""))
			var two mailbox.Receipt
			w.lose(t, func(thread.Head) { two = w.submit(t, input("two", "")) })
			want := mailbox.Receipt{Superseded: 2}
			if dedupe != "" { // another call with the same key may have been first
				want = mailbox.Receipt{Duplicate: true}
			}
			if came := w.interrupt(t, dedupe); came != want {
				t.Errorf("interrupt: %+v, want %+v", came, want)
			}
			if got := w.status(t, two); got != "created" || w.head(t).Epoch != 1 {
				t.Errorf("what came after the interrupt is %q at epoch %d", got, w.head(t).Epoch)
			}
		})
	}
}

func TestInterruptWithInputSaysWhatItSuperseded(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.submit(t, input("two", ""))
	s := keyed("instead", mailbox.ModeInterrupt)
	first := w.submit(t, s)
	if first.Superseded != 2 || first.Duplicate {
		t.Errorf("receipt %+v, want two superseded", first)
	}
	if again := w.submit(t, s); again.Superseded != 0 || !again.Duplicate || again.RunID != first.RunID {
		t.Errorf("again: %+v", again)
	}
}

// A run that waits for a person has no holder who could close it: whoever claims it
// next does.
func TestInterruptOfAWaitingRunWakesIt(t *testing.T) {
	w, head := waiting(t, asks(1))
	if came := w.interrupt(t, ""); came.RunID != head.Run.ID {
		t.Errorf("interrupted %+v, want run %s", came, head.Run.ID)
	}
	if lines := w.queue.Lines(); len(lines) != 1 || lines[0] != "t1 0s" {
		t.Errorf("hints %v, want one at once", lines)
	}
	closing := w.claim(t)
	if closing.Run.Reason != thread.ReasonSuperseded || len(closing.Tickets) != 0 {
		t.Errorf("the claim has %+v with tickets %v", closing.Run, closing.Tickets)
	}
	if _, err := w.Decide(t.Context(), key, mailbox.Deciding{Target: "c1", User: "ann", Decision: core.Decision{Action: core.DecisionResume}}); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("a decision on its call: %v, want not found", err)
	}
}

// Without a key each interrupt is one of its own.
func TestInterruptsWithoutAKeyAreNoDuplicates(t *testing.T) {
	w := newWorld(t)
	for i := range 2 {
		w.submit(t, input("one", ""))
		if got := w.interrupt(t, ""); got.Superseded != 1 || got.Duplicate || len(w.head(t).Pending) != 0 {
			t.Errorf("interrupt %d: %+v with the queue %+v; want one superseded run", i, got, w.head(t).Pending)
		}
	}
}
