package mailbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// A queued run is shown with what its input says; without the input, which is
// stored for a limited time, it is still a run.
func TestQueuedRunIsReadFromItsInput(t *testing.T) {
	unreadable := errors.New("read timed out")
	tests := []struct {
		name    string
		arrange func(w *world, input string)
		agent   string
		asked   string
		err     error
		ok      bool
	}{
		{"as submitted", func(*world, string) {}, "demo", "one", nil, true},
		{"the input is gone", func(w *world, input string) { w.loses(input) }, "", "", nil, true},
		{"the input cannot be read", func(w *world, input string) { w.failing(input, unreadable) }, "", "", unreadable, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			receipt := w.submit(t, input("one", ""))
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			tt.arrange(w, recordname.Input(receipt.DispatchID, 0))
			got, ok, err := w.Run(t.Context(), key, head, receipt.RunID, receipt.DispatchID)
			if ok != tt.ok || !errors.Is(err, tt.err) {
				t.Fatalf("run %+v, %v, %v; want %v, %v", got, ok, err, tt.ok, tt.err)
			}
			if !ok {
				return
			}
			if got.CreatedAt == 0 {
				t.Error("the run has no time of creation")
			}
			want := core.Run{
				ID: receipt.RunID, ThreadID: "t1", Dispatch: receipt.DispatchID, AgentID: tt.agent,
				Status: core.RunCreated, CreatedAt: got.CreatedAt, Asked: tt.asked,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunThatNobodySubmittedIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	if got := w.status(t, mailbox.Receipt{RunID: core.ID{1}, DispatchID: core.ID{2}}); got != "unknown" {
		t.Errorf("the run is %q, want unknown", got)
	}
	ended := w.submit(t, input("two", ""))
	if _, err := w.Cancel(t.Context(), key, ended.RunID); err != nil {
		t.Fatal(err)
	}
	if got := w.status(t, mailbox.Receipt{RunID: core.ID{1}, DispatchID: ended.DispatchID}); got != "unknown" {
		t.Errorf("under the dispatch of one that was cancelled the run is %q, want unknown", got)
	}
	if at, dispatch, ok, err := w.Locate(t.Context(), "t", core.ID{1}); ok || err != nil {
		t.Errorf("it is at %s, %s, %v, %v; want nothing", at, dispatch, ok, err)
	}
}

// The head decides about a run that is open, whatever its record says: an
// earlier try may have stored an end there. Once it is closed the record is all.
func TestStoredRunIsShownAsTheHeadHasIt(t *testing.T) {
	done := &core.Termination{Type: core.TerminationError, Code: "boom"}
	tests := []struct {
		name  string
		head  func(t *testing.T, w *world, head thread.Head)
		want  core.Run
		ended uint64 // version of the ending that the record has
	}{
		{"running", func(*testing.T, *world, thread.Head) {}, core.Run{Status: core.RunRunning}, 0},
		{"closing by its own step", func(t *testing.T, w *world, head thread.Head) {
			w.commit(t, thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Done, Listens: true})
		}, core.Run{Status: core.RunDone, Termination: done, FinishedAt: 5, Response: "bye"}, 3},
		{"closing, and the record is another try's", func(t *testing.T, w *world, head thread.Head) {
			w.commit(t, thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Done, Listens: true})
		}, core.Run{Status: core.RunDone, FinishedAt: 5, Response: "bye"}, 4},
		{"over", func(t *testing.T, w *world, head thread.Head) { w.end(t, head) },
			core.Run{Status: core.RunDone, Termination: done, FinishedAt: 5, Response: "bye"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			receipt := w.submit(t, input("one", ""))
			tt.head(t, w, w.claim(t))
			stored := thread.RunRecord{Run: core.Run{
				ID: receipt.RunID, ThreadID: "t1", AgentID: "demo", Steps: 2,
				Status: core.RunDone, Termination: done, FinishedAt: 5, Response: "bye",
			}}
			if tt.ended != 0 {
				stored.Ending = &thread.Ending{Version: tt.ended, Termination: *done}
			}
			payload, err := thread.Records{}.EncodeRun(&stored)
			if err != nil {
				t.Fatal(err)
			}
			w.put(t, store.Record{Name: recordname.Run(receipt.RunID), Fence: 1, Version: 9, Payload: payload})
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := w.Run(t.Context(), key, head, receipt.RunID, receipt.DispatchID)
			if err != nil || !ok {
				t.Fatalf("run: %v, %v", ok, err)
			}
			tt.want.ID, tt.want.ThreadID, tt.want.AgentID, tt.want.Steps = receipt.RunID, "t1", "demo", 2
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordThatCannotBeReadIsNamed(t *testing.T) {
	w := newWorld(t)
	receipt := w.submit(t, input("one", ""))
	w.failing(recordname.Run(receipt.RunID), errors.New("read timed out"))
	_, ok, err := w.Run(t.Context(), key, thread.Head{}, receipt.RunID, receipt.DispatchID)
	if want := "read run " + receipt.RunID.String() + ": read timed out"; ok || err == nil || err.Error() != want {
		t.Errorf("run: %v, %v; want %s", ok, err, want)
	}
}

// A step that was refused may have left an audit of input, and another has put its own
// record at that place of the log.
func TestAnAuditCountsWhereTheLogHasItsInputAlone(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	steered := w.submit(t, input("two", mailbox.ModeSteer))
	w.reads(t, head, steered.DispatchID)
	r := w.submit(t, input("three", ""))
	if _, err := w.Cancel(t.Context(), key, r.RunID); err != nil {
		t.Fatal(err)
	}
	w.audit(t, recordname.Read(r.DispatchID), 1, thread.AuditRecord{Run: head.Run.ID, Read: 1, Status: core.DispatchAcked})
	if got := w.status(t, r); got != "done cancelled" {
		t.Errorf("the run that was cancelled is %q", got)
	}
	for _, d := range w.list(t, mailbox.ListQuery{}).Dispatches {
		if d.ID == r.DispatchID && d.Status != core.DispatchCancelled {
			t.Errorf("its dispatch is %+v", d)
		}
	}
}
