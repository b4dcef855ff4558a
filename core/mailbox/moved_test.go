package mailbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// forgetful is a store that loses the responses to some commits.
type forgetful struct {
	store.Backend
	loses int
}

func (f *forgetful) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	outcome, err := f.Backend.Commit(ctx, key, c)
	if f.loses--; f.loses >= 0 {
		return store.Outcome{}, errors.New("connection reset")
	}
	return outcome, err
}

// told notes heads and hints in the order in which they come.
type told []string

func (n *told) moved(key core.ThreadKey, head thread.Head) {
	*n = append(*n, key.String()+" at version "+string(rune('0'+head.Version)))
}

// Every head that was written is told once, before the hint that follows it; what
// changed nothing, or was refused, is not.
func TestThoseWhoWatchAreToldOfEachWrite(t *testing.T) {
	var got told
	w := newWorld(t)
	backend := &forgetful{Backend: memory.New()}
	box, err := mailbox.New(mailbox.Options{
		Env: env.System(), Store: backend, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Moved: got.moved,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(told(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		got = nil
	}
	s := input("one", "")
	s.Key.Value = "k"
	if _, err := box.Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want("a submission", key.String()+" at version 1")
	if _, err := box.Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want("the same again")
	backend.loses = 1
	if _, claimed, err := box.Claim(t.Context(), hint, false); err != nil || !claimed {
		t.Fatalf("claimed %t, %v", claimed, err)
	}
	want("a claim whose response was lost", key.String()+" at version 2")
	if _, claimed, err := box.Claim(t.Context(), hint, false); err != nil || claimed {
		t.Fatalf("claimed %t, %v", claimed, err)
	}
	want("a claim on what is claimed")
}
