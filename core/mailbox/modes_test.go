package mailbox_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

func TestModesOnABusyThread(t *testing.T) {
	tests := []struct {
		mode          mailbox.Mode
		first, second string // statuses afterwards
		code          core.Code
		inbox         int
	}{
		{mode: "", first: "running", second: "created"},
		{mode: mailbox.ModeQueue, first: "running", second: "created"},
		{mode: mailbox.ModeInterrupt, first: "done superseded", second: "created"},
		{mode: mailbox.ModeSteer, first: "running", second: "running", inbox: 1},
		{mode: mailbox.ModeReject, first: "running", code: core.CodeBusy},
		{mode: "none", first: "running", code: core.CodeInvalid},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			w := newWorld(t)
			first := w.submit(t, input("one", ""))
			head := w.claim(t)
			second, err := w.Submit(t.Context(), input("two", tt.mode))
			if core.CodeOf(err) != tt.code {
				t.Fatalf("submit: %v, want code %q", err, tt.code)
			}
			if got := w.status(t, first); got != tt.first {
				t.Errorf("the first run is %q, want %q", got, tt.first)
			}
			if err != nil {
				return
			}
			if got := w.status(t, second); got != tt.second {
				t.Errorf("the second run is %q, want %q", got, tt.second)
			}
			if tt.inbox > 0 && second.RunID != first.RunID {
				t.Errorf("the input went to run %s, want %s", second.RunID, first.RunID)
			}
			if head, err = w.Head(t.Context(), key); err != nil || len(head.Inbox) != tt.inbox {
				t.Errorf("%d inbox entries, want %d", len(head.Inbox), tt.inbox)
			}
		})
	}
}

// Input for a run that waits for a decision is what the person said instead of
// deciding: the run reads it and goes on, unless the mode says otherwise.
func TestModesOnAWaitingThread(t *testing.T) {
	tests := []struct {
		mode          mailbox.Mode
		first, second string // statuses afterwards
		code          core.Code
		inbox         int
	}{
		{mode: "", first: "running", second: "running", inbox: 1},
		{mode: mailbox.ModeQueue, first: "running", second: "running", inbox: 1},
		{mode: mailbox.ModeInterrupt, first: "done superseded", second: "created"},
		{mode: mailbox.ModeSteer, first: "running", second: "running", inbox: 1},
		{mode: mailbox.ModeReject, first: "waiting", code: core.CodeBusy},
	}
	for _, tt := range tests {
		for _, inline := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, inline %v", tt.mode, inline), func(t *testing.T) {
				w, first := asking(t)
				second, err := w.submitBusy(t, inline, input("two", tt.mode))
				if core.CodeOf(err) != tt.code {
					t.Fatalf("submit: %v, want code %q", err, tt.code)
				}
				if got := w.status(t, first); got != tt.first {
					t.Errorf("the first run is %q, want %q", got, tt.first)
				}
				if got := w.status(t, second); err == nil && got != tt.second {
					t.Errorf("the second run is %q, want %q", got, tt.second)
				}
				if head, err := w.Head(t.Context(), key); err != nil || len(head.Inbox) != tt.inbox {
					t.Errorf("%d inbox entries, want %d; %v", len(head.Inbox), tt.inbox, err)
				}
			})
		}
	}
}

// asking is a world whose run waits for a person, and the receipt of the run.
func asking(t *testing.T) (*world, mailbox.Receipt) {
	t.Helper()
	w := newWorld(t)
	first := w.submit(t, input("one", ""))
	w.claim(t)
	w.commit(t, thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1, TurnFence: 1})
	w.commit(t, thread.CommitStep{Fence: 1, From: 2, Seq: 2, Outcome: thread.Wait, Tickets: []thread.Ticket{{ID: 7}}})
	return w, first
}

// submitBusy submits to a thread that is not free, inline too, which does not claim it.
func (w *world) submitBusy(t *testing.T, inline bool, s mailbox.Submission) (mailbox.Receipt, error) {
	t.Helper()
	if !inline {
		return w.Submit(t.Context(), s)
	}
	receipt, _, stored, err := w.SubmitAndClaim(t.Context(), s)
	if receipt.Running || stored != nil {
		t.Error("the thread was claimed")
	}
	return receipt, err
}

func TestSteeringAFreeThreadQueues(t *testing.T) {
	w := newWorld(t)
	if r := w.submit(t, input("one", mailbox.ModeSteer)); w.status(t, r) != "created" {
		t.Errorf("the run is %q, want created", w.status(t, r))
	}
}
