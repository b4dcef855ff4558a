package mailbox_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// later submits a run for tomorrow.
func (w *world) later(t *testing.T) mailbox.Receipt {
	t.Helper()
	s := input("tomorrow", "")
	s.Opening.Delay = 24 * time.Hour
	return w.submit(t, s)
}

// wantLater checks that the run for tomorrow is there, alone beside what else there is.
func (w *world) wantLater(t *testing.T, later mailbox.Receipt) {
	t.Helper()
	if head := w.head(t); len(head.Delayed) != 1 || head.Delayed[0].Run != later.RunID {
		t.Errorf("delayed is %+v, want run %s", head.Delayed, later.RunID)
	}
}

func TestAThreadIsNotBusyForARunOfTomorrow(t *testing.T) {
	for name, mode := range map[string]mailbox.Mode{"what is said": mailbox.ModeQueue, "an interrupt": mailbox.ModeInterrupt, "reject": mailbox.ModeReject, "what is steered": mailbox.ModeSteer} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			later := w.later(t)
			s := input("hello", "")
			s.Mode = mode
			receipt, err := w.submitInline(t.Context(), s)
			if err != nil || !receipt.Running {
				t.Errorf("receipt %+v, %v; want a run that is claimed with its submission", receipt, err)
			}
			w.wantLater(t, later)
		})
	}
}

func TestStopLeavesARunOfTomorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		later := w.later(t)
		if ended, err := w.Cancel(t.Context(), key, core.ID{}); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("Stop ends %s, %v; want not_found", ended, err)
		}
		hello := w.submit(t, input("hello", ""))
		if ended, err := w.Cancel(t.Context(), key, core.ID{}); err != nil || ended != hello.RunID {
			t.Errorf("Stop ends %s, %v; want what is queued, %s", ended, err, hello.RunID)
		}
		w.wantLater(t, later)
		time.Sleep(24 * time.Hour)
		if ended, err := w.Cancel(t.Context(), key, core.ID{}); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("when it is due Stop ends %s, %v; want not_found", ended, err)
		}
		w.wantLater(t, later)
	})
}

func TestAnInterruptLeavesARunOfTomorrow(t *testing.T) {
	w := newWorld(t)
	later := w.later(t)
	if got, err := w.Interrupt(t.Context(), key, "ann", "k1"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an interrupt of nothing: %+v, %v; want not_found", got, err)
	}
	w.submit(t, input("hello", ""))
	got, err := w.Interrupt(t.Context(), key, "ann", "k2")
	if err != nil || got.Superseded != 1 {
		t.Errorf("interrupted: %+v, %v; want 1 queued run superseded", got, err)
	}
	w.wantLater(t, later)
	w.submit(t, input("hello again", ""))
	s := input("rather this", "")
	s.Mode = mailbox.ModeInterrupt
	if receipt := w.submit(t, s); receipt.Superseded != 1 {
		t.Errorf("input that interrupts supersedes %d runs, want 1", receipt.Superseded)
	}
	w.wantLater(t, later)
}

// Whoever names it ends it, by its run or by its input.
func TestARunOfTomorrowIsEndedByItsName(t *testing.T) {
	for name, end := range map[string]func(w *world, r mailbox.Receipt) error{
		"cancelled": func(w *world, r mailbox.Receipt) error {
			_, err := w.Cancel(t.Context(), key, r.RunID)
			return err
		},
		"retracted": func(w *world, r mailbox.Receipt) error { return w.Retract(t.Context(), key, r.DispatchID) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			later := w.later(t)
			if err := w.Edit(t.Context(), key, later.DispatchID, []core.Message{core.UserMessage("the day after").WithID("m")}); err != nil {
				t.Errorf("edit: %v", err)
			}
			if got := w.text(t, later.DispatchID, 1); got != "the day after" {
				t.Errorf("its input is %q after the edit", got)
			}
			if status, ok := func() (core.RunStatus, bool) { h := w.head(t); return h.RunStatus(later.RunID) }(); !ok || status != core.RunCreated {
				t.Errorf("its status is %q, %v; want created", status, ok)
			}
			if err := end(w, later); err != nil {
				t.Fatal(err)
			}
			if head := w.head(t); len(head.Delayed) != 0 || head.DueAt != 0 {
				t.Errorf("left are %+v, due at %d", head.Delayed, head.DueAt)
			}
			if got := w.status(t, later); got != "done cancelled" {
				t.Errorf("the run is %q, want done cancelled", got)
			}
		})
	}
}

// The ninth is refused by name, and none of them keeps others out.
func TestEightRunsAreDelayedAndRefuseNothing(t *testing.T) {
	w := newWorld(t)
	for range thread.MaxDelayed {
		w.later(t)
	}
	s := input("one more", "")
	s.Opening.Delay = time.Hour
	_, err := w.Submit(t.Context(), s)
	if want := "thread t1: 8 runs are delayed, at most 8 are allowed: no more is accepted for now"; core.CodeOf(err) != core.CodeFull || err.Error() != want {
		t.Errorf("the ninth: %v, want %s", err, want)
	}
	for n := range thread.MaxPending {
		if _, err := w.Submit(t.Context(), input(fmt.Sprint("now ", n), "")); err != nil {
			t.Errorf("message %d: %v", n, err)
		}
	}
	if _, err := w.Submit(t.Context(), input("now 8", "")); core.CodeOf(err) != core.CodeFull {
		t.Errorf("the ninth queued one: %v, want full", err)
	}
}

// Once it is due it comes before what was queued, and nothing goes before it inline.
func TestADueRunComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		later := w.later(t)
		w.submit(t, input("hello", ""))
		time.Sleep(24 * time.Hour)
		receipt, err := w.submitInline(t.Context(), input("hello again", ""))
		if err != nil || receipt.Running {
			t.Errorf("receipt %+v, %v; want one that is queued", receipt, err)
		}
		s := input("or nothing", "")
		s.Mode = mailbox.ModeReject
		if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeBusy {
			t.Errorf("reject: %v, want busy", err)
		}
		if head := w.claim(t); head.Run.ID != later.RunID {
			t.Errorf("run %s opens, want the due one, %s", head.Run.ID, later.RunID)
		}
	})
}

// A message that is said again takes the log back from where it was, and not what is to
// come.
func TestAMessageIsSaidAgainBesideARunOfTomorrow(t *testing.T) {
	w := newWorld(t)
	s := input("hello", "")
	s.Messages[0].ID = "m1"
	w.submit(t, s)
	head := w.claim(t)
	said := core.UserMessage("hello").WithID("m1")
	said.RunID = head.Run.ID
	payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: head.Run.ID, Message: &said, Input: head.Run.Dispatch})
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: store.LogName(1), Fence: head.Claim.Fence, Payload: payload})
	w.commit(t, thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Yield, Keep: true, Lease: 30_000, Seq: 1})
	later := w.later(t)
	again := mailbox.Submission{Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "demo", Retake: &mailbox.Retake{Message: "m1"}}}
	if _, err := w.Submit(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.wantLater(t, later)
	if head := w.head(t); head.Run.Reason != thread.ReasonSuperseded || len(head.Pending) != 1 {
		t.Errorf("the run that said it is %s (%s), queued are %v", head.Run.Status, head.Run.Reason, head.Pending)
	}
}

func TestDelayedRunsAreListedWithTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		later, at := w.later(t), time.Now().Add(24*time.Hour).UnixMilli()
		now := w.submit(t, input("hello", ""))
		page := w.list(t, mailbox.ListQuery{Status: core.DispatchQueued})
		if len(page.Dispatches) != 2 || page.Dispatches[0].RunID != later.RunID || page.Dispatches[0].AvailableAt != at || page.Dispatches[1].RunID != now.RunID || page.Dispatches[1].AvailableAt != 0 {
			t.Errorf("listed are %+v, want run %s at %d and run %s", page.Dispatches, later.RunID, at, now.RunID)
		}
	})
}
