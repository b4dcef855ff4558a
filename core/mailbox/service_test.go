package mailbox_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func TestOptionsAreChecked(t *testing.T) {
	w := newWorld(t)
	full := mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue}
	change := func(f func(*mailbox.Options)) mailbox.Options {
		o := full
		f(&o)
		return o
	}
	tests := []struct {
		name    string
		options mailbox.Options
		want    string
	}{
		{"complete", full, ""},
		{"no env", change(func(o *mailbox.Options) { o.Env = nil }), "mailbox: Env, Store and Waker are required"},
		{"no store", change(func(o *mailbox.Options) { o.Store = nil }), "mailbox: Env, Store and Waker are required"},
		{"no waker", change(func(o *mailbox.Options) { o.Waker = nil }), "mailbox: Env, Store and Waker are required"},
		{"the longest name", change(func(o *mailbox.Options) { o.Worker = strings.Repeat("w", 64) }), ""},
		{"a longer name", change(func(o *mailbox.Options) { o.Worker = strings.Repeat("w", 65) }), "mailbox: worker name of 65 bytes, at most 64 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := mailbox.New(tt.options)
			switch {
			case tt.want == "" && (err != nil || s.Lease() != 30*time.Second):
				t.Errorf("New returns %v, want a service with leases of 30 s", err)
			case tt.want != "" && (core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want || s != nil):
				t.Errorf("New returns %v, %v; want %s", s, err, tt.want)
			}
		})
	}
}

// indexed is a backend with another policy for what is due.
type indexed struct {
	store.Backend
	policy thread.DuePolicy
}

func (i indexed) DuePolicy() thread.DuePolicy { return i.policy }

func TestOptionsAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		box, err := mailbox.New(mailbox.Options{
			Env: env.System(), Store: indexed{w.store, thread.DuePolicy{Grace: 7_000}}, Waker: w.queue, Logger: slog.New(slog.DiscardHandler),
			Worker: "me", Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UnixMilli()
		if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
			t.Fatal(err)
		}
		head, err := box.Head(t.Context(), key)
		if err != nil || head.DueAt != now+7_000 {
			t.Errorf("due at %d, %v; want %d", head.DueAt, err, now+7_000)
		}
		head, _, err = box.Claim(t.Context(), hint, false)
		want := thread.Claim{Fence: 1, Worker: "me", Lease: now + 60_000, CommitID: head.CommitID}
		if err != nil || head.Claim != want {
			t.Errorf("claim %+v, %v; want %+v", head.Claim, err, want)
		}
	})
}

// A thread whose claim is taken back, or was deleted, is not worth a line.
func TestReclaimSaysWhatItCouldNotTakeBack(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t)
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w.submit(t, input("one", ""))
	w.claim(t)
	reclaim := func(key core.ThreadKey) int {
		log.Reset()
		if err := box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
			t.Error(err)
		}
		return strings.Count(log.String(), "\n")
	}
	if n := reclaim(key); n != 0 {
		t.Errorf("%d lines for a claim that was taken back", n)
	}
	w.commit(t, thread.Delete{Owner: "ann"})
	if n := reclaim(key); n != 0 {
		t.Errorf("%d lines for a deleted thread", n)
	}
	if n := reclaim(core.ThreadKey{Tenant: "t", Thread: "a#b"}); n != 1 {
		t.Errorf("%d lines for a thread that cannot be read, want 1", n)
	}
}

func TestLogGoesToTheDefaultLogger(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	w := newWorld(t)
	w.queue.OnWake = refuse
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
		t.Errorf("a hint that was lost is the submission's error: %v", err)
	}
	if !strings.Contains(log.String(), "no queue") {
		t.Errorf("the log says %q", log.String())
	}
}
