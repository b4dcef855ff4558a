package mailbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// A try that has died behind its records stands in nobody's way, whichever schema its
// program writes: another one takes the run up over them.
func TestARunIsTakenUpOverTheRecordsOfAnotherProgram(t *testing.T) {
	for _, writes := range []uint16{1, 2} {
		w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
		var stored store.Record
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			stored = c.Records[0]
			w.points(c.Pointers...)
			w.put(t, stored)
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process died")
		}
		if _, err := w.withSchemas(t, 2, writes).TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeInvalid {
			t.Fatal(err)
		}
		other := w.withSchemas(t, 2, 3-writes)
		receipt, err := other.TakeUp(t.Context(), key, "ann", run)
		if err != nil {
			t.Fatalf("taken up behind a program that writes schema %d: %v", writes, err)
		}
		again, err := other.TakeUp(t.Context(), key, "ann", run)
		if err != nil || again.RunID != receipt.RunID || !again.Duplicate {
			t.Errorf("again: %+v, %v, want run %s", again, err, receipt.RunID)
		}
		head := w.head(t)
		if len(head.Pending) != 1 || head.Schema != 2 || stored.Name != recordname.Input(head.Pending[0].ID, 0) {
			t.Errorf("the queue is %+v of schema %d, want the input %s", head.Pending, head.Schema, stored.Name)
		}
	}
}

// Others may have come while a try that has died was on its way: whoever goes on with it
// looks, too.
func TestARunIsNotTakenUpOverRecordsBehindWhichOthersHaveCome(t *testing.T) {
	w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
	w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		w.points(c.Pointers...)
		w.put(t, c.Records[0])
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process died")
	}
	if _, err := w.withSchemas(t, 2, 2).TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeInvalid {
		t.Fatal(err)
	}
	w.store.OnCommit = func(ctx context.Context, at core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		goesOn(t, w)
		return w.store.Backend.Commit(ctx, at, c)
	}
	if r, err := w.withSchemas(t, 2, 1).TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("taken up: %+v, %v, want a conflict", r, err)
	}
}

// An interrupt that was refused leaves the audit of a queued run that it did not end. A
// client that repeats its request to take up gets that run, also if later runs have written.
func TestARunThatWasTakenUpIsFoundBesideWhatARefusedInterruptHasLeft(t *testing.T) {
	for name, opened := range map[string]bool{"the run is open": false, "the run is over": true} {
		t.Run(name, func(t *testing.T) {
			w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
			first, err := w.TakeUp(t.Context(), key, "ann", run)
			if err != nil {
				t.Fatal(err)
			}
			head := w.claim(t)
			w.audit(t, recordname.Ended(first.DispatchID), head.Version, thread.AuditRecord{Run: first.RunID, Status: core.DispatchSuperseded})
			if opened {
				w.end(t, head)
				w.recordEnd(t, first, core.Termination{Type: core.TerminationError, Code: "model"}, 9)
				goesOn(t, w)
			}
			again, err := w.TakeUp(t.Context(), key, "ann", run)
			if err != nil || again.RunID != first.RunID || !again.Duplicate {
				t.Errorf("again: %+v, %v, want run %s", again, err, first.RunID)
			}
		})
	}
}

// goesOn has a run of somebody else write to the log.
func goesOn(t *testing.T, w *world) {
	t.Helper()
	r := w.submit(t, input("two", ""))
	head := w.claim(t)
	w.commit(t, thread.Cancel{Run: r.RunID})
	_, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq + 1},
		func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			e := thread.Entry{Run: r.RunID, Message: &core.Message{ID: "m3", RunID: r.RunID, Role: core.RoleUser}, Input: r.DispatchID}
			return []store.Record{{Name: store.LogName(next.Seq), Fence: head.Claim.Fence, Payload: encoded(t, e)}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// A run whose thread was deleted before anybody heard that it is queued was queued, and is
// counted: what says that the thread was deleted does not say that nothing was written.
func TestARunIsCountedWhoseThreadIsDeletedBeforeItsResponse(t *testing.T) {
	w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	w.store.OnCommit = func(ctx context.Context, at core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		if out, err := w.store.Backend.Commit(ctx, at, c); err != nil || !out.Written {
			t.Errorf("the write is refused: %+v, %v", out, err)
		}
		w.commit(t, thread.Delete{Owner: "ann"})
		return store.Outcome{}, core.Errorf(core.CodeUnavailable, "no response")
	}
	if r, err := box.TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeDeleted {
		t.Fatalf("taken up: %+v, %v, want that the thread was deleted", r, err)
	}
	used, err := w.store.Admission(t.Context(), key.Tenant, calendar.Day(time.Now().UnixMilli()))
	if err != nil || used.Runs != 1 {
		t.Errorf("the day has %d runs, %v, want 1", used.Runs, err)
	}
}

// To another user a thread has no runs, whether it knows the run or not.
func TestAnotherUserTakesNothingUp(t *testing.T) {
	w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
	for name, id := range map[string]core.ID{"a run of the thread": run, "no run of it": {9}} {
		r, err := w.TakeUp(t.Context(), key, "bob", id)
		if want := "take up run " + id.String() + ": it belongs to another user"; r != (mailbox.Receipt{}) || core.CodeOf(err) != core.CodeForbidden || err.Error() != want {
			t.Errorf("%s: %+v, %v; want %s", name, r, err, want)
		}
	}
	w.delete(t)
	if r, err := w.TakeUp(t.Context(), key, "ann", run); r != (mailbox.Receipt{}) || core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("of a deleted thread: %+v, %v", r, err)
	}
}
