package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// damaged is a world whose thread has a run to continue, and then a head that no program
// decodes. said has the log.
func damaged(t *testing.T) (w *world, said *bytes.Buffer) {
	t.Helper()
	w, said = newWorld(t), &bytes.Buffer{}
	w.submit(t, input("one", ""))
	w.queue.Clear()
	head := w.head(t)
	head.Version++
	head.Delayed = []thread.Dispatch{{}} // one without a time does not exist
	if out, err := w.store.Backend.Commit(t.Context(), key, store.Commit{Head: head}); !out.Written || err != nil {
		t.Fatal(out, err)
	}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(said, nil)),
		Quarantined: func(key core.ThreadKey) { fmt.Fprintln(said, "told of", key) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Service = box
	return w, said
}

func (w *world) storedHead(t *testing.T) store.StoredHead {
	t.Helper()
	stored, err := w.store.StoredHead(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// A damaged head is found by the sweep, the queue and the queue of dead letters. Each
// acknowledges its message, and none brings another.
func TestADamagedHeadIsWokenOnce(t *testing.T) {
	tests := []struct {
		name string
		find func(t *testing.T, w *world) error
	}{
		{"a hint", func(t *testing.T, w *world) error {
			_, claimed, err := w.Claim(t.Context(), hint, false)
			if claimed {
				t.Error("it was claimed")
			}
			return err
		}},
		{"a dead letter", func(t *testing.T, w *world) error {
			woken, err := w.Rewake(t.Context(), hint)
			if woken {
				t.Error("it was woken again")
			}
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, said := damaged(t)
			before := w.storedHead(t)
			if woken, err := w.Sweep(t.Context()); woken != 1 || err != nil {
				t.Fatalf("the sweep wakes %d, %v; want 1", woken, err)
			}
			w.queue.Clear()
			for range 2 {
				if err := tt.find(t, w); err != nil {
					t.Fatalf("the message fails: %v", err)
				}
				if woken, err := w.Sweep(t.Context()); woken != 0 || err != nil || len(w.queue.Messages()) != 0 {
					t.Fatalf("the next sweep wakes %d, %v, and %q is sent", woken, err, w.queue.Lines())
				}
			}
			after := w.storedHead(t)
			if !bytes.Equal(before.Bytes, after.Bytes) || after.Quarantined == 0 {
				t.Errorf("the stored head is %+v, and was %+v", after, before)
			}
			if n := strings.Count(said.String(), "level=ERROR"); n != 1 || !strings.Contains(said.String(), `msg="thread quarantined, its head is damaged" tenant=t thread=t1`) || !strings.Contains(said.String(), `remedy="restore the head and run doctor release, or run doctor delete"`) {
				t.Errorf("the log has %d errors:\n%s", n, said)
			}
			if n := strings.Count(said.String(), "told of t/t1\n"); n != 1 {
				t.Errorf("%d threads were named:\n%s", n, said)
			}
			_, err := w.Submit(t.Context(), input("two", ""))
			if core.CodeOf(err) != core.CodeCorrupt || !strings.Contains(err.Error(), "it was quarantined at 2") || !strings.HasSuffix(err.Error(), "run doctor release THREAD or doctor delete THREAD") {
				t.Errorf("more input: %v", err)
			}
		})
	}
}

// A user cannot delete it, since its owner is unknown. An operator can.
func TestADamagedThreadIsDeletedByAnOperator(t *testing.T) {
	for _, quarantined := range []bool{false, true} {
		w, _ := damaged(t)
		if quarantined {
			if err := errors.Join(w.Quarantine(t.Context(), key), w.Quarantine(t.Context(), key)); err != nil {
				t.Fatal(err)
			}
		}
		before := w.storedHead(t)
		if _, ok := errors.AsType[*store.DamagedError](w.Delete(t.Context(), key, "ann")); !ok || !w.storedHead(t).Same(before) {
			t.Error("a user's delete is no *store.DamagedError, or has changed the head")
		}
		if err := w.DeleteDamaged(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if head := w.head(t); !head.Deleted || head.Version < 3 || head.Epoch != 1 {
			t.Errorf("the head is %+v, want a tombstone", head)
		}
		if sent := w.queue.Lines(); len(sent) != 1 {
			t.Errorf("%q was sent, want a hint to erase", sent)
		}
		if _, err := w.Submit(t.Context(), input("two", "")); !errors.Is(err, thread.ErrDeleted) {
			t.Errorf("input on the deleted thread: %v, want deleted", err)
		}
		w.sweeps(t)
		if left := w.records(t); left != nil {
			t.Errorf("the records %q are left", left)
		}
		if err := w.DeleteDamaged(t.Context(), key); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("deleted again: %v, want code conflict", err)
		}
	}
}

// A head whose version no program can tell is replaced by one that no worker expects.
func TestTheTombstoneOfAnUnknownVersion(t *testing.T) {
	w, _ := damaged(t)
	hidden := hiddenHead{Backend: w.store, change: func(h *store.StoredHead) { h.Version = 0 }}
	var next thread.Head
	hidden.replace = func(h thread.Head) { next = h }
	if err := boxOver(t, w, &hidden).DeleteDamaged(t.Context(), key); err != nil || next.Version != 1<<40+1 || !next.Deleted {
		t.Errorf("%v, the tombstone is %+v", err, next)
	}
}

// hiddenHead changes what is read of a stored head.
type hiddenHead struct {
	store.Backend
	change  func(*store.StoredHead)
	replace func(thread.Head)
	writes  int
}

func (h *hiddenHead) StoredHead(ctx context.Context, key core.ThreadKey) (store.StoredHead, error) {
	stored, err := h.Backend.StoredHead(ctx, key)
	h.change(&stored)
	return stored, err
}

func (h *hiddenHead) QuarantineHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, since int64) (bool, error) {
	h.writes++
	return h.Backend.QuarantineHead(ctx, key, was, since)
}

func (h *hiddenHead) ReplaceHead(_ context.Context, key core.ThreadKey, was store.StoredHead, next thread.Head) (bool, error) {
	if err := was.CheckDamaged(key); err != nil {
		return false, err
	}
	h.replace(next)
	return true, nil
}

func boxOver(t *testing.T, w *world, b store.Backend) *mailbox.Service {
	t.Helper()
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: b, Waker: w.queue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// A head that changes with every look is left to another delivery of the hint.
func TestAHeadThatChangesIsNotQuarantined(t *testing.T) {
	w, _ := damaged(t)
	moving := hiddenHead{Backend: w.store, change: func(h *store.StoredHead) { h.Bytes = append(h.Bytes, 1) }}
	_, claimed, err := boxOver(t, w, &moving).Claim(t.Context(), hint, false)
	if claimed || core.CodeOf(err) != core.CodeCorrupt || !strings.Contains(err.Error(), "the head of t/t1 changed 3 times during the call, call it again") || moving.writes != 3 {
		t.Errorf("claimed %v, %v after %d writes", claimed, err, moving.writes)
	}
	if w.storedHead(t).Quarantined != 0 {
		t.Error("it was quarantined")
	}
}

// What is not damaged is refused, and a newer program's head stays as it is.
func TestOnlyDamagedHeadsAreChanged(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.queue.Clear()
	none := core.ThreadKey{Tenant: "t", Thread: "t9"}
	newer := boxOver(t, w, &hiddenHead{Backend: w.store, change: func(h *store.StoredHead) { h.Damage = thread.ErrSchema }, replace: func(thread.Head) { t.Error("replaced") }})
	for name, err := range map[string]error{
		"quarantine of an intact head": w.Quarantine(t.Context(), key),
		"delete of an intact head":     w.DeleteDamaged(t.Context(), key),
	} {
		if core.CodeOf(err) != core.CodeConflict {
			t.Errorf("%s: %v, want code conflict", name, err)
		}
	}
	for name, err := range map[string]error{
		"quarantine of no thread": w.Quarantine(t.Context(), none), "delete of no thread": w.DeleteDamaged(t.Context(), none), "release of no thread": w.Release(t.Context(), none),
	} {
		if core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: %v, want code not_found", name, err)
		}
	}
	if err := newer.DeleteDamaged(t.Context(), key); !errors.Is(err, thread.ErrSchema) {
		t.Errorf("delete of a newer program's head: %v, want ErrSchema", err)
	}
	w.store.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, thread.ErrSchema }
	if _, claimed, err := w.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "t1", Tries: 6}, false); claimed || err != nil {
		t.Errorf("claim of a newer program's head: %v, %v", claimed, err)
	}
	if w.storedHead(t).Quarantined != 0 || len(w.queue.Messages()) != 0 {
		t.Error("a head that is not damaged was quarantined, or a hint was sent")
	}
}

// A head that was repaired between the claim and the quarantine is woken.
func TestAHeadThatWasRepairedIsWoken(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.queue.Clear()
	w.store.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) {
		return thread.Head{}, &store.DamagedError{Key: key, Cause: store.ErrCorrupt}
	}
	if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil || len(w.queue.Messages()) != 1 {
		t.Errorf("claimed %v, %v, and %q was sent; want one hint", claimed, err, w.queue.Lines())
	}
}

func TestReleaseWakesTheThread(t *testing.T) {
	w, _ := damaged(t)
	if err := w.Quarantine(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*store.DamagedError](w.Release(t.Context(), key)); !ok || len(w.queue.Messages()) != 0 {
		t.Error("the release of a damaged head is no *store.DamagedError, or a hint was sent")
	}
	intact := newWorld(t)
	intact.submit(t, input("one", ""))
	intact.queue.Clear()
	if err := intact.Release(t.Context(), key); err != nil || len(intact.queue.Messages()) != 1 {
		t.Errorf("%v, and %q was sent; want one hint", err, intact.queue.Lines())
	}
}
