package mailbox_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// A call that has waited for a person for weeks runs again, and must meet the children
// that it has started: their keys live as long as queued input.
func TestChildsKeyOutlivesTheWaitOfItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := input("one", "")
		s.Key.Value, s.Opening.Parent = "child k", &mailbox.Parent{Thread: "p", Run: core.ID{1}}
		var lives []time.Duration
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			for _, p := range c.Pointers {
				lives = append(lives, p.TTL)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.submit(t, s)
		if diff := cmp.Diff([]time.Duration{9600 * time.Hour, 0}, lives); diff != "" {
			t.Errorf("lives of key and run id (-want +got):\n%s", diff)
		}
	})
}

// Who was told, and died before it was noted, is told again, also when the parent's head
// has forgotten it: the run must not read of the end twice.
func TestBackgroundEndIsReadOnceAfterItsKeyWasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := telling(t, nil, new(bytes.Buffer))
		w.last = w.submit(t, input("one", ""))
		head := w.claim(t)
		s := input("two", "")
		s.Thread, s.Opening.Parent = childKey, &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID, Call: thread.NoCall}
		c := child{world: w, receipt: w.submit(t, s)}
		payload, err := thread.Records{}.EncodeRun(&thread.RunRecord{Run: core.Run{ID: head.Run.ID, AgentID: "demo"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Run(head.Run.ID), Fence: 1, Version: 2, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		ended := c.ends(t, "done")
		tell := func() thread.Head {
			if err := w.Deliver(t.Context(), childKey, ended, thread.Head{}); err != nil {
				t.Fatal(err)
			}
			return w.head(t)
		}
		told := tell()
		if len(told.Inbox) != 1 {
			t.Fatalf("the parent has %d entries to read, want one", len(told.Inbox))
		}
		entry := told.Inbox[0]
		if a, b := [6]byte(entry.ID[:6]), [6]byte(c.receipt.RunID[:6]); a != b || entry.ID[6] == c.receipt.RunID[6] {
			t.Errorf("the input's id is %s, want another one with the time of the child %s", entry.ID, c.receipt.RunID)
		}
		read := thread.Entry{Run: head.Run.ID, Input: entry.ID, Message: &core.Message{ID: "m", Role: core.RoleUser}}
		seq := told.Seq + 1
		_, _, err = w.Commit(t.Context(), key, told, thread.CommitStep{
			Fence: told.Claim.Fence, From: told.Seq, Seq: seq, Outcome: thread.Yield, Keep: true, Lease: 30_000,
			Consumed: []thread.InboxRef{{ID: entry.ID, Revision: entry.Revision, Seq: seq}},
		}, func(thread.Head, thread.Result) ([]store.Record, error) {
			return []store.Record{{Name: store.LogName(seq), Fence: told.Claim.Fence, Payload: encoded(t, read)}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 16 {
			s := input(fmt.Sprint("more ", i), "")
			receipt := w.submit(t, s)
			if _, err := w.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Fatal(err)
			}
		}
		if again := tell(); len(again.Inbox) != 0 {
			t.Errorf("the parent is to read of the end again: %+v", again.Inbox)
		}
	})
}
