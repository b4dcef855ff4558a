package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// internal is input of the deployment itself, under a key that stands alone.
func internal(text string) mailbox.Submission {
	s := input(text, "")
	s.Origin, s.Key.Value, s.Key.Alone = core.OriginInternal, "event", true
	return s
}

// What a trigger says is no reply to what a run asks: its tickets stay, and the
// input waits behind it.
func TestInternalInputQueuesBehindARunThatWaits(t *testing.T) {
	for _, inline := range []bool{false, true} {
		w, first := asking(t)
		second, err := w.submitBusy(t, inline, internal("two"))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := w.status(t, first), w.status(t, second); a != "waiting" || b != "created" || second.RunID == first.RunID {
			t.Errorf("inline %v: the runs are %q and %q, want waiting and created", inline, a, b)
		}
		head, err := w.Head(t.Context(), key)
		if err != nil || len(head.Tickets) != 1 || len(head.Inbox) != 0 {
			t.Errorf("inline %v: %d tickets and %d inbox entries, %v; want one ticket", inline, len(head.Tickets), len(head.Inbox), err)
		}
		run, _, err := w.Run(t.Context(), key, head, second.RunID, second.DispatchID)
		if err != nil || run.Origin != core.OriginInternal {
			t.Errorf("the queued run is of origin %q, %v", run.Origin, err)
		}
	}
}

func TestInternalInputOnlyQueues(t *testing.T) {
	tests := []struct {
		mode   mailbox.Mode
		origin core.Origin
		want   string
	}{
		{"", core.OriginInternal, ""},
		{mailbox.ModeQueue, core.OriginInternal, ""},
		{mailbox.ModeInterrupt, core.OriginInternal, `mode "interrupt" of internal input, allowed is queue`},
		{mailbox.ModeSteer, core.OriginInternal, `mode "steer" of internal input, allowed is queue`},
		{mailbox.ModeReject, core.OriginInternal, `mode "reject" of internal input, allowed is queue`},
		{"", "cron", `unknown origin "cron", allowed are an empty one (a user) and internal`},
		{mailbox.ModeSteer, core.OriginUser, ""},
	}
	for _, tt := range tests {
		s := input("one", tt.mode)
		s.Origin = tt.origin
		got := ""
		if err := s.Check(); err != nil {
			got = err.Error()
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("mode %q, origin %q: code %q", tt.mode, tt.origin, core.CodeOf(err))
			}
		}
		if got != tt.want {
			t.Errorf("mode %q, origin %q: %q, want %q", tt.mode, tt.origin, got, tt.want)
		}
	}
}

// said is the input that a submission's record holds.
func (w *world) said(t *testing.T, r mailbox.Receipt) string {
	t.Helper()
	record, ok, err := w.store.Get(t.Context(), key, recordname.Input(r.DispatchID, 0))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	queued, err := thread.Records{}.DecodeQueued(record.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return queued.Messages[0].Text()
}

// An event that comes twice may be told in other words the second time.
func TestAKeyAloneStandsForWhateverIsSaid(t *testing.T) {
	w := newWorld(t)
	first := w.submit(t, internal("one"))
	again := internal("two")
	again.Opening.AgentID, again.Opening.Request = "other", json.RawMessage(`1`)
	if r := w.submit(t, again); !r.Duplicate || r.RunID != first.RunID || w.said(t, r) != "one" {
		t.Errorf("again: %+v with %q, want a duplicate of %+v", r, w.said(t, r), first)
	}
	other := internal("three")
	other.Key.Value = "another event"
	if r := w.submit(t, other); r.Duplicate || r.RunID == first.RunID {
		t.Errorf("another key: %+v", r)
	}
}

// The first try has stored its key and its input, and the head was never written:
// what it said counts, under its ids.
func TestAKeyAloneGoesOnWithWhatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.points(c.Pointers...)
			for _, r := range c.Records {
				if err := w.store.Backend.Put(ctx, key, r); err != nil {
					t.Error(err)
				}
			}
			cancel()
			return store.Outcome{}, errors.New("the process ends here")
		}
		if r, err := w.Submit(ctx, internal("one")); err == nil {
			t.Fatalf("the first try returned %+v", r)
		}
		w.store.OnCommit = nil
		r := w.submit(t, internal("two"))
		if r.Duplicate || w.said(t, r) != "one" || w.status(t, r) != "created" {
			t.Errorf("the second try: %+v with %q, %s", r, w.said(t, r), w.status(t, r))
		}
	})
}

// The first try has stored its key, and another one, in other words, stores its input
// and dies before the first one's comes: what is stored counts.
func TestAKeyAloneGoesOnWithWhatAnotherTryHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tries := 0
		w.store.OnCommit = func(inner context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if tries++; tries == 1 {
				w.points(c.Pointers...)
				if r, err := w.Submit(ctx, internal("two")); err == nil {
					t.Errorf("the try that dies returned %+v", r)
				}
				w.store.OnCommit = nil
				return w.store.Backend.Commit(inner, key, c)
			}
			for _, r := range c.Records {
				if err := w.store.Backend.Put(inner, key, r); err != nil {
					t.Error(err)
				}
			}
			cancel()
			return store.Outcome{}, errors.New("the process ends here")
		}
		r, err := w.Submit(t.Context(), internal("one"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Duplicate || w.said(t, r) != "two" || w.status(t, r) != "created" {
			t.Errorf("the first try: %+v with %q, %s; want a run that was asked two", r, w.said(t, r), w.status(t, r))
		}
	})
}
