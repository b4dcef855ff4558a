package mailbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Two make the same fork at once. Who comes second, and cannot read that it is the same,
// is not told that it is another.
func TestAForkThatCannotBeToldFromAnotherIsNoConflict(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	w.readText(t, w.claim(t), one, "one")
	f := mailbox.Forking{Thread: key, User: "ann", At: "m", To: "t2"}
	lost := errors.New("connection reset by peer")
	failing := false
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		if made, err := w.Fork(ctx, f); err != nil || made.Duplicate {
			t.Errorf("the first fork: %+v, %v", made, err)
		}
		failing = true
		return w.store.Backend.Commit(ctx, key, c)
	}
	w.store.OnPointer = func(ctx context.Context, tenant, name string) ([]byte, bool, error) {
		if failing {
			return nil, false, lost
		}
		return w.store.Backend.Pointer(ctx, tenant, name)
	}
	if made, err := w.Fork(t.Context(), f); !errors.Is(err, lost) {
		t.Errorf("the second fork: %+v, %v; want %v", made, err, lost)
	}
	failing = false
	if made, err := w.Fork(t.Context(), f); err != nil || !made.Duplicate || made.ThreadID != "t2" {
		t.Errorf("the second fork, made again: %+v, %v", made, err)
	}
	f.At = one.DispatchID.String()
	if made, err := w.Fork(t.Context(), f); !errors.Is(err, thread.ErrExists) {
		t.Errorf("another fork: %+v, %v; want %v", made, err, thread.ErrExists)
	}
}
