package mailbox_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// addsChildren makes a run of the thread list the children, without a step.
func (w *world) addsChildren(t *testing.T, head thread.Head, children ...core.ID) thread.Head {
	t.Helper()
	for _, child := range children {
		var err error
		if head, _, err = w.Commit(t.Context(), key, head, thread.AddChild{Fence: head.Claim.Fence, Child: child}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return head
}

// leaves ends the run that has the claim; its thread then owes the children a cancel.
func (w *world) leaves(t *testing.T, head thread.Head) thread.Head {
	t.Helper()
	head, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq + 1, Outcome: thread.Done, Natural: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// cancelsOwed is how many cancels a thread owes.
func cancelsOwed(head thread.Head) (n int) {
	for _, e := range head.Outbox {
		if e.Kind == thread.OutboxCancel {
			n++
		}
	}
	return n
}

// startsChild enqueues a child run of the thread's open run.
func (w *world) startsChild(t *testing.T, name string, change ...func(*mailbox.Parent)) core.ID {
	t.Helper()
	head, err := w.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	parent := &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID, Listed: true}
	for _, c := range change {
		c(parent)
	}
	s := input(name, "")
	s.Thread.Thread, s.Opening.Parent = name, parent
	return w.submit(t, s).RunID
}

// What becomes of an ended run's children: those that are not over end, but for detached ones.
// Nothing of the entry is left then.
func TestChildrenOfAnEndedRunAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		queued := w.startsChild(t, "queued")
		detached := w.startsChild(t, "detached", func(p *mailbox.Parent) { p.Detached = true })
		gone := w.startsChild(t, "gone")
		over := w.startsChild(t, "over")
		if err := w.Delete(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: "gone"}, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Cancel(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: "over"}, over); err != nil {
			t.Fatal(err)
		}
		head = w.leaves(t, w.addsChildren(t, head, queued, detached, core.ID{9}, gone, over))
		if cancelsOwed(head) != 1 || head.Outbox[0].Kind != thread.OutboxCancel {
			t.Fatalf("the thread owes %+v", head.Outbox)
		}
		if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"queued": 0, "detached": 1, "over": 0} {
			if child, err := w.Head(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: name}); err != nil || len(child.Pending) != want {
				t.Errorf("%s: %d runs wait, %v; want %d", name, len(child.Pending), err, want)
			}
		}
		if head, err := w.Head(t.Context(), key); err != nil || cancelsOwed(head) != 0 || log.Len() > 0 {
			t.Errorf("the thread still owes %+v, %v, %s", head.Outbox, err, log.String())
		}
	})
}

// A child that cannot be reached is tried again; the others have ended by then. A second run
// that ends before has one entry with the first.
func TestAChildThatCannotBeReachedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		away := false
		w.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
			if k.Thread == "away" && away {
				return thread.Head{}, store.ErrThrottled
			}
			return w.store.Backend.Head(ctx, k)
		}
		w.submit(t, input("one", ""))
		head := w.claim(t)
		first, second := w.startsChild(t, "away"), w.startsChild(t, "here")
		head = w.leaves(t, w.addsChildren(t, head, first, second))
		pending := func() (counts []int) {
			for _, name := range []string{"away", "here", "third"} {
				child, err := w.store.Backend.Head(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: name})
				if err != nil {
					t.Fatal(err)
				}
				counts = append(counts, len(child.Pending))
			}
			return counts
		}
		deliver := func() {
			t.Helper()
			err := w.Deliver(t.Context(), key, head, thread.Head{})
			if err == nil {
				head, err = w.Head(t.Context(), key)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		away = true
		deliver()
		if got := pending(); !slices.Equal(got, []int{1, 0, 0}) || cancelsOwed(head) != 1 || head.Outbox[0].Tries != 1 || !strings.Contains(log.String(), "notification failed") {
			t.Fatalf("queued are %v; the thread owes %+v, %s", got, head.Outbox, log.String())
		}
		was := head.Outbox[0].ID
		w.submit(t, input("two", ""))
		head = w.claim(t)
		third := w.startsChild(t, "third")
		head = w.leaves(t, w.addsChildren(t, head, third))
		if cancelsOwed(head) != 1 || head.Outbox[0].ID == was {
			t.Fatalf("the thread owes %+v after %v", head.Outbox, was)
		}
		away = false
		deliver()
		if got := pending(); !slices.Equal(got, []int{0, 0, 0}) || cancelsOwed(head) != 0 {
			t.Errorf("queued are %v; the thread owes %+v", got, head.Outbox)
		}
	})
}

// What no later try can read is given up, and said.
func TestAnEntryWithoutItsRecordIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		head = w.leaves(t, w.addsChildren(t, head, core.ID{9}))
		w.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
			if found.Name == recordname.Outbox(head.Outbox[0].ID) {
				found.Payload = []byte("{")
			}
			return found
		}
		if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
			t.Fatal(err)
		}
		if head, err := w.Head(t.Context(), key); err != nil || cancelsOwed(head) != 0 || !strings.Contains(log.String(), "children of an ended run unknown, they continue") {
			t.Errorf("the thread owes %+v, %v, %s", head.Outbox, err, log.String())
		}
	})
}
