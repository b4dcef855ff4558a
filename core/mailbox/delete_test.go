package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// swept is the hint that a sweep sends.
var swept = core.WakeUp{Tenant: "t", Thread: "t1", Sweep: true}

func (w *world) delete(t *testing.T) {
	t.Helper()
	if err := w.Delete(t.Context(), key, "ann"); err != nil {
		t.Fatal(err)
	}
}

// sweeps lets whoever gets the sweep's hint handle it.
func (w *world) sweeps(t *testing.T) {
	t.Helper()
	if _, claimed, err := w.Claim(t.Context(), swept, false); claimed || err != nil {
		t.Fatalf("the sweep's hint on a deleted thread: claimed %v, %v", claimed, err)
	}
}

// records are the names of what the thread has.
func (w *world) records(t *testing.T) (names []string) {
	t.Helper()
	list, err := w.store.Backend.Records(t.Context(), key, "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

func TestADeletedThreadTakesNothing(t *testing.T) {
	w, head := waiting(t, asks(1))
	if err := w.Delete(t.Context(), key, "bob"); !errors.Is(err, thread.ErrForbidden) {
		t.Fatalf("deleted by bob: %v, want forbidden", err)
	}
	if err := w.Delete(t.Context(), core.ThreadKey{Tenant: "t", Thread: "t9"}, "ann"); !errors.Is(err, thread.ErrNotFound) {
		t.Fatalf("a thread that never was: %v, want not found", err)
	}
	w.delete(t)
	if sent := w.queue.Messages(); len(sent) != 1 || sent[0].Hint != swept || sent[0].Delay != 0 {
		t.Errorf("hints %+v, want the sweep's at once", sent)
	}
	w.delete(t) // again is no error
	now := w.head(t)
	if !now.Deleted || now.Erased || now.Epoch != 1 || now.Fence != head.Fence || now.Open() || now.DueAt == 0 {
		t.Errorf("the head is %+v", now)
	}
	ctx, say := t.Context(), []core.Message{core.UserMessage("new")}
	for name, err := range map[string]error{
		"submit":    second(w.Submit(ctx, input("one", ""))),
		"interrupt": second(w.Interrupt(ctx, key, "ann", "")),
		"decide":    second(w.Decide(ctx, key, mailbox.Deciding{Target: "c1", User: "ann", Decision: core.Decision{Action: core.DecisionResume}})),
		"cancel":    second(w.Cancel(ctx, key, core.ID{})),
		"retract":   w.Retract(ctx, key, w.last.DispatchID),
		"retry":     second(w.Retry(ctx, key, "ann", head.Run.ID)),
		"a step":    late(w.Commit(ctx, key, thread.Head{}, thread.Refence{Fence: 1}, nil)),
	} {
		if !errors.Is(err, thread.ErrDeleted) {
			t.Errorf("%s: %v, want deleted", name, err)
		}
	}
	if err := w.Edit(ctx, key, w.last.DispatchID, say); core.CodeOf(err) != core.CodeNotFound && core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("edit: %v, want not found or deleted", err)
	}
	if _, claimed, err := w.Claim(ctx, hint, false); claimed || err != nil {
		t.Errorf("claimed %v, %v", claimed, err)
	}
}

func second[T any](_ T, err error) error { return err }

func late(_ thread.Head, _ thread.Result, err error) error { return err }

// The sweep erases at once, then again what a paused worker has put since, for as long
// as one can live; then the thread is left alone, and still deleted.
func TestTheSweepErasesADeletedThreadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, head := waiting(t, asks(1))
		paused := store.Record{Name: store.LogName(2), Fence: head.Fence, Payload: []byte(`{"schema":1}`)}
		w.sweepsNothing(t) // what is not deleted is not touched
		if names := w.records(t); len(names) == 0 {
			t.Fatal("the thread has no records")
		}
		w.delete(t)
		if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil || len(w.records(t)) == 0 {
			t.Fatalf("a hint that may be forged: claimed %v, %v, records %v", claimed, err, w.records(t))
		}
		w.sweeps(t)
		if names := w.records(t); names != nil || w.head(t).Erased {
			t.Errorf("after the first sweep: records %v, erased %v", names, w.head(t).Erased)
		}
		w.put(t, paused)
		time.Sleep(20*time.Minute - time.Millisecond)
		w.sweeps(t)
		if names := w.records(t); names != nil || w.head(t).Erased {
			t.Errorf("while a worker may live: records %v, erased %v", names, w.head(t).Erased)
		}
		time.Sleep(time.Millisecond)
		w.sweeps(t)
		if now := w.head(t); !now.Erased || !now.Deleted || now.DueAt != 0 {
			t.Errorf("at last the head is %+v", now)
		}
		version := w.head(t).Version
		w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
			if op.Method == "Erase" {
				t.Error("an erased thread is erased again")
			}
			return do(ctx)
		}
		w.sweeps(t)
		w.store.Around = nil
		if now := w.head(t); now.Version != version {
			t.Errorf("an erased thread is written again: version %d after %d", now.Version, version)
		}
		if _, _, ok, err := w.Locate(t.Context(), "t", head.Run.ID); !ok || err != nil {
			t.Errorf("the run leads nowhere: %v, %v", ok, err)
		}
	})
}

// sweepsNothing lets a thread that waits meet the sweep's hint.
func (w *world) sweepsNothing(t *testing.T) {
	t.Helper()
	before := w.records(t)
	w.sweeps(t)
	if diff := cmp.Diff(before, w.records(t)); diff != "" {
		t.Errorf("records (-before +after):\n%s", diff)
	}
}

// A thread that is more than one delivery can erase sends its hint again.
func TestALargeThreadIsErasedInParts(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	for seq := range uint64(2_100) {
		w.put(t, store.Record{Name: store.LogName(seq + 1), Fence: 1, Payload: []byte("a")})
	}
	w.delete(t)
	w.queue.Clear()
	w.sweeps(t)
	if n := len(w.records(t)); n != 103 {
		t.Errorf("%d records are left, want 103 of 2,103", n)
	}
	messages := w.queue.Messages()
	if len(messages) != 1 || messages[0].Hint != swept || messages[0].Delay != 0 {
		t.Fatalf("hints %v, want the sweep's at once", messages)
	}
	w.queue.Clear()
	w.sweeps(t)
	if names := w.records(t); names != nil || w.queue.Messages() != nil {
		t.Errorf("records %v, hints %v", names, w.queue.Messages())
	}
}

// A store that cannot erase now is asked again by the next sweep, and by nobody before.
func TestAnEraseThatFailsIsTheNextSweeps(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.delete(t)
	w.queue.Clear()
	w.erasing(func(context.Context) error { return store.ErrThrottled })
	w.sweeps(t)
	if len(w.records(t)) != 3 || w.queue.Messages() != nil {
		t.Errorf("records %v, hints %v", w.records(t), w.queue.Messages())
	}
	w.store.Around = nil
	if woken, err := w.Sweep(t.Context()); woken != 1 || err != nil {
		t.Errorf("the sweep wakes %d, %v", woken, err)
	}
	w.sweeps(t)
	if names := w.records(t); names != nil {
		t.Errorf("records %v", names)
	}
}

// erasing puts a function in the place of what erases.
func (w *world) erasing(erase func(ctx context.Context) error) {
	w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if op.Method == "Erase" {
			return erase(ctx)
		}
		return do(ctx)
	}
}

// What cannot be erased is not noted as erased, and is a line in the log unless the time is
// over; that it cannot be noted is the delivery's error, but not that another has noted it.
func TestWhatAnEraseComesTo(t *testing.T) {
	tests := []struct {
		name   string
		meet   func(w *world, leave func())
		lines  int
		erased bool
		err    error
	}{
		{"it fails", func(w *world, _ func()) {
			w.erasing(func(context.Context) error { return store.ErrThrottled })
		}, 1, false, nil},
		{"the time is over", func(w *world, leave func()) {
			w.erasing(func(ctx context.Context) error {
				if ctx.Err() != nil {
					panic("it is erased after the time is over")
				}
				leave()
				return ctx.Err()
			})
		}, 0, false, nil},
		{"the time is over when it is done", func(w *world, leave func()) {
			w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Method == "Erase" {
					defer leave()
				}
				return do(context.WithoutCancel(ctx))
			}
		}, 0, true, nil},
		{"it cannot be noted", func(w *world, _ func()) {
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, store.ErrCorrupt
			}
		}, 0, false, store.ErrCorrupt},
		{"nothing of it is left", func(w *world, _ func()) {
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, thread.ErrNotFound
			}
		}, 0, false, nil},
		{"another has noted it", func(w *world, _ func()) {
			w.before(func() {
				if _, _, err := w.Commit(context.Background(), key, thread.Head{}, thread.Delete{Erased: true}, nil); err != nil {
					panic(err)
				}
			})
		}, 0, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := newWorld(t)
				w.submit(t, input("one", ""))
				w.delete(t)
				w.sweeps(t)
				time.Sleep(time.Hour)
				box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				tt.meet(w, leave)
				_, claimed, err := box.Claim(ctx, swept, false)
				w.store.Around, w.store.OnCommit = nil, nil
				if claimed || !errors.Is(err, tt.err) || strings.Count(log.String(), "\n") != tt.lines || w.head(t).Erased != tt.erased {
					t.Errorf("claimed %v, %v, erased %v, the log says %s", claimed, err, w.head(t).Erased, &log)
				}
			})
		})
	}
}
