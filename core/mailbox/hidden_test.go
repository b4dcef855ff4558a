package mailbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// What the head says for certain is the answer, also where the target came to what was asked.
func TestARefusalIsNotTakenForDone(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	w.lose(t, func(thread.Head) { w.commit(t, thread.Delete{Owner: "ann"}) })
	if _, err := w.Cancel(t.Context(), key, one.RunID); !errors.Is(err, thread.ErrDeleted) {
		t.Errorf("cancel: %v, want deleted", err)
	}
	w, _ = waiting(t, asks(0)) // a decision has nothing to look up
	w.drops(func() { w.commit(t, thread.Cancel{}) })
	if _, err := w.Decide(t.Context(), key, deciding("s0", "d")); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("decide: %v, want not found", err)
	}
}

// The error of a look says what was looked for.
func TestALookThatFailsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one := w.submit(t, input("one", ""))
		w.lose(t, func(thread.Head) { w.hide(t) })
		heads := 0
		w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			heads++
			return w.store.Backend.Head(ctx, key)
		}
		w.store.OnGet = func(context.Context, core.ThreadKey, string) (store.Record, bool, error) {
			return store.Record{}, false, errors.New("no route to host")
		}
		err := w.Retract(t.Context(), key, one.DispatchID)
		if err == nil || err.Error() != "look for what was changed: no route to host" || heads != 8 {
			t.Errorf("retract: %v after %d looks at the head; want 8: before the write, and before each look for the target", err, heads)
		}
	})
}

// Who has left is told what became of the write, where that is known from what others have
// done since.
func TestAWriteThatIsSeenThroughMayBeHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.last = w.submit(t, input("one", ""))
		head := w.claim(t)
		w.commit(t, thread.Nack{Fence: 1})
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var seen context.Context
		writes := 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes == 1 { // it is on its way
				w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
					defer leave()
					return w.store.Backend.Head(ctx, key)
				}
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			w.store.OnCommit, w.store.OnHead = nil, nil
			if _, err := w.store.Backend.Commit(context.WithoutCancel(ctx), key, c); err != nil { // it comes, and the run closes
				t.Error(err)
			}
			w.closes(t, w.claim(t), w.last)
			w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
				seen = ctx
				return w.store.Backend.Head(ctx, key)
			}
			return store.Outcome{}, ctx.Err()
		}
		ended, err := w.Cancel(ctx, key, head.Run.ID)
		if err != nil || ended != head.Run.ID || writes != 2 || seen.Err() == nil {
			t.Errorf("cancel: %s, %v after %d writes", ended, err, writes)
		}
	})
}

// A response that was lost is settled by one look, also when the caller leaves during it.
func TestASettledWriteIsNotSeenThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		heads := 0
		w.lose(t, func(thread.Head) {
			w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
				heads++
				defer leave()
				return w.store.Backend.Head(ctx, key)
			}
		})
		if _, err := w.Submit(ctx, input("one", "")); err != nil || heads != 1 {
			t.Errorf("submit: %v after %d looks, want one", err, heads)
		}
	})
}

// A head that could not be read is read again before anything is made of it; one that was
// refused is not read at all.
func TestHowOftenAHeadIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one := w.submit(t, input("one", ""))
		heads := 0
		w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			if heads++; heads == 1 {
				return thread.Head{}, errors.New("connection reset by peer")
			}
			return w.store.Backend.Head(ctx, key)
		}
		if ended, err := w.Cancel(t.Context(), key, core.ID{}); err != nil || ended != one.RunID || heads != 2 {
			t.Errorf("cancel: %s, %v after %d reads, want two", ended, err, heads)
		}
		heads = 1
		w.submit(t, input("two", ""))
		writes := 0
		var race func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
		race = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes <= 3 {
				w.store.OnCommit, w.store.OnHead = nil, nil
				w.hide(t)
				w.store.OnCommit = race
				w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
					heads++
					return w.store.Backend.Head(ctx, key)
				}
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.store.OnCommit = race
		if _, err := w.Cancel(t.Context(), key, core.ID{}); err != nil || heads != 3 || writes != 4 {
			t.Errorf("cancel: %v after %d reads and %d writes; want one read, and four writes", err, heads-2, writes)
		}
	})
}

// What is sent again is what was sent, later.
func TestTryWithoutAResponseIsSentAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		var tries []store.Commit
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if tries = append(tries, c); len(tries) == 1 {
				time.Sleep(time.Second)
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.claim(t)
		if diff := cmp.Diff(tries[0], tries[1]); diff != "" {
			t.Errorf("the second try differs (-first +second):\n%s", diff)
		}
	})
}

// Whoever watches is not told of a write that was found to be accepted before.
func TestWhatWasAcceptedBeforeIsNotToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var got told
		box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Moved: got.moved})
		if err != nil {
			t.Fatal(err)
		}
		w.lose(t, func(next thread.Head) {
			d := next.Pending[0]
			w.end(t, w.claim(t))
			w.recordEnd(t, mailbox.Receipt{RunID: d.Run, DispatchID: d.ID}, core.Termination{Type: core.TerminationNatural}, 9)
			for range 17 {
				r := w.submit(t, input("x", ""))
				w.commit(t, thread.Cancel{Run: r.RunID})
			}
		})
		if r, err := box.Submit(t.Context(), input("one", "")); err != nil || !r.Duplicate || len(got) != 0 {
			t.Errorf("submit: %+v, %v; told of %q", r, err, got)
		}
	})
}

// The slot of a run that opens while an interrupt is on its way stays: it is over when it is
// closed. That of a run that waits for its time goes with it.
func TestWhichSlotsGoWithAWrite(t *testing.T) {
	w := limited(t)
	w.submit(t, input("one", ""))
	w.before(func() { w.claim(t) })
	if w.interrupt(t, ""); len(w.slots(t)) != 1 {
		t.Errorf("slots %v, want that of the run that is closing", w.slots(t))
	}
	s := input("later", "")
	s.Opening.Delay = time.Hour
	r := w.submit(t, s)
	w.charge(t, r.RunID)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		defer leave()
		return w.store.Backend.Commit(ctx, key, c)
	}
	w.store.OnAdmission = func(ctx context.Context, tenant string, day int64) (store.Admission, error) {
		if err := ctx.Err(); err != nil {
			return store.Admission{}, err
		}
		return w.store.Backend.Admission(ctx, tenant, day)
	}
	if _, err := w.Cancel(ctx, key, r.RunID); err != nil || len(w.slots(t)) != 1 {
		t.Errorf("cancel: %v; slots %v, want that of the run that is closing", err, w.slots(t))
	}
	if used := w.used(t); used.Tokens != 0 || used.Spend != 0 {
		t.Errorf("the day has %d tokens and %d spent of a run that has not begun", used.Tokens, used.Spend)
	}
}

// What the tenant uses cannot be read: nothing is released by guess, and it is no error.
func TestSlotsThatCannotBeLookedUpAreTheSweeps(t *testing.T) {
	w := limited(t)
	one, two := w.submit(t, input("one", "")), w.submit(t, input("two", ""))
	calls, _ := w.admissions()
	w.store.OnAdmission = func(context.Context, string, int64) (store.Admission, error) {
		return store.Admission{Slots: map[core.ID]store.Slot{one.RunID: {}, two.RunID: {}}}, errors.New("no connection")
	}
	if w.interrupt(t, ""); len(*calls) != 0 || len(w.slots(t)) != 2 {
		t.Errorf("calls %q, slots %v", *calls, w.slots(t))
	}
}

// Once the limits' store does not respond, no more slots are released; a run that has none
// costs no call.
func TestHowManySlotsAWriteReleases(t *testing.T) {
	w := limited(t)
	box := w.Service
	w.Service = newWorldOver(t, w) // which knows of no limits
	w.submit(t, input("zero", ""))
	w.Service = box
	w.submit(t, input("one", ""))
	w.submit(t, input("two", ""))
	calls, _ := w.admissions()
	w.store.OnRelease = func(context.Context, string, store.Use) (bool, error) {
		*calls = append(*calls, "release")
		return false, core.Errorf(core.CodeCorrupt, "no connection")
	}
	w.interrupt(t, "")
	if diff := cmp.Diff([]string{"look", "release"}, *calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The usage record of another attempt, at the same version, is got past.
func TestADeleteMeetsTheUsageRecordOfAnother(t *testing.T) {
	w := metered(t)
	w.submit(t, input("one", ""))
	w.claim(t)
	w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		return store.Outcome{}, &store.RefusedError{Name: c.Usage.Name, Cause: store.ErrConflict}
	}
	if err := w.Delete(t.Context(), key, "ann"); err != nil || !w.head(t).Deleted || w.head(t).Version != 4 {
		t.Errorf("%v, the head is at version %d, want 4 with the touch", err, w.head(t).Version)
	}
}

// What the store says of records is not for clients.
func TestWhatClientsReadOfTheStoresErrors(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world) error
		what string
	}{
		{"a submission", func(w *world) error { return second(w.Submit(t.Context(), input("one", ""))) }, "input"},
		{"a thread", func(w *world) error {
			return second(w.Create(t.Context(), mailbox.Creating{Thread: key, User: "ann"}))
		}, "thread"},
	}
	for _, tt := range tests {
		for failure, code := range map[error]core.Code{store.ErrTooLarge: core.CodeTooLarge, store.ErrConflict: core.CodeThrottled} {
			w := newWorld(t)
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, failure
			}
			err := tt.do(w)
			if core.CodeOf(err) != code || code == core.CodeTooLarge && err.Error() != "thread t1: the "+tt.what+" is larger than can be stored" {
				t.Errorf("%s: %v, want code %s", tt.name, err, code)
			}
		}
	}
}

// A program that writes newer records reads them, too.
func TestANewerProgramReadsItsRecords(t *testing.T) {
	w := newWorld(t)
	w.Service = w.withSchemas(t, 2, 2)
	r := w.submit(t, input("one", ""))
	run, ok, err := w.Run(t.Context(), key, w.head(t), r.RunID, r.DispatchID)
	if err != nil || !ok || run.AgentID != "demo" {
		t.Errorf("%+v, %v, %v", run, ok, err)
	}
}

// What lists a child run, and its thread, names its parent's thread.
func TestTheListingsOfAChild(t *testing.T) {
	w := newWorld(t)
	s := input("help", "")
	s.Opening.Parent = &mailbox.Parent{Thread: "p", Run: core.ID{1}}
	r := w.submit(t, s)
	for _, name := range []string{recordname.Listing(r.RunID), recordname.Activity} {
		record, ok, err := w.store.Get(t.Context(), key, name)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if l, err := (thread.Records{}).DecodeListing(record.Payload); err != nil || l.Parent != "p" || l.AgentID != "demo" {
			t.Errorf("%s: %+v, %v; want the parent p", name, l, err)
		}
	}
}
