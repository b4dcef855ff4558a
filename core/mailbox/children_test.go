package mailbox_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
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

// bears makes a child thread of a user, later than those before it.
func (w *world) bears(t *testing.T, parent, child, user string) {
	t.Helper()
	time.Sleep(time.Second)
	s := input("help", "")
	s.Thread.Thread, s.User, s.Opening.Parent = child, user, &mailbox.Parent{Thread: parent, Run: core.ID{1}}
	w.submit(t, s)
}

// tombstones notes the threads that are deleted from now on, in that order.
func (w *world) tombstones() *[]string {
	order := new([]string)
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if c.Head.Deleted {
			*order = append(*order, key.Thread)
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	return order
}

// lists lists a thread as a child of another, as a step of its run does.
func (w *world) lists(t *testing.T, child, parent string) {
	t.Helper()
	payload, err := thread.Records{}.EncodeListing(&thread.Listing{List: recordname.ChildrenList(parent), At: time.Now().UnixMilli(), Parent: parent})
	if err == nil {
		err = w.store.Backend.Put(t.Context(), core.ThreadKey{Tenant: "t", Thread: child}, store.Record{Name: recordname.Activity, Fence: 9, Version: 9, Payload: payload})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Children go first, each once, also where the threads started each other in a circle; what
// is another's, or not there, is left alone.
func TestTheOrderOfACascade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("hi", ""))
		w.bears(t, "t1", "c1", "ann")
		w.bears(t, "c1", "c11", "ann")
		time.Sleep(time.Second)
		w.lists(t, "t1", "c1") // between its children
		w.bears(t, "c1", "c12", "ann")
		w.bears(t, "t1", "c2", "bob")
		w.lists(t, "c9", "t1") // of which there is no head
		w.bears(t, "t1", "c3", "ann")
		w.bears(t, "t1", "c4", "ann")
		order := w.tombstones()
		if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"c4", "c3", "c12", "c11", "c1", "t1"}, *order); diff != "" {
			t.Errorf("deleted (-want +got):\n%s", diff)
		}
	})
}

// Lists may lag, and show a thread below its own child.
func TestACascadeComesToAnEnd(t *testing.T) {
	w := family(t)
	w.store.OnListed = func(_ context.Context, _, list string, _ *store.Place, _ int) ([]store.Listed, error) {
		child := map[string]string{"children:t1": "c1", "children:c1": "c11", "children:c11": "c1"}[list]
		return []store.Listed{{Place: store.Place{Thread: child}}}, nil
	}
	order := w.tombstones()
	if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c11", "c1", "t1"}, *order); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// Whoever may not delete the thread deletes none of its children, be they their own.
func TestACascadeIsRefusedBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("hi", ""))
		w.bears(t, "t1", "c1", "bob")
		order := w.tombstones()
		for _, children := range []mailbox.Children{mailbox.ChildrenCascade, mailbox.ChildrenReject} {
			if err := w.DeleteWith(t.Context(), key, "bob", children); !errors.Is(err, thread.ErrForbidden) || err.Error() != "thread t1: it belongs to another user" || len(*order) != 0 {
				t.Errorf("%s: %v, deleted are %q", children, err, *order)
			}
		}
	})
}

// A thread that is deleted already is no reason to leave its children.
func TestACascadeBehindADeleteTakesTheChildren(t *testing.T) {
	w := family(t)
	w.delete(t)
	if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); err != nil || len(w.deleted(t)) != 4 {
		t.Errorf("%v, deleted are %q", err, w.deleted(t))
	}
}

// The newest child is named; one that is deleted, or another's, is none.
func TestWhichChildKeepsAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("hi", ""))
		for child, user := range map[string]string{"c1": "ann", "c2": "ann"} {
			w.bears(t, "t1", child, user)
		}
		w.bears(t, "t1", "c3", "ann")
		w.bears(t, "t1", "c4", "bob")
		err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenReject)
		if want := "thread t1 has the child thread c3; child_strategy cascade deletes it too, detach lets it stay"; core.CodeOf(err) != core.CodeConflict || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		for _, child := range []string{"c1", "c2", "c3"} {
			if err := w.Delete(t.Context(), core.ThreadKey{Tenant: "t", Thread: child}, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenReject); err != nil || !slices.Contains(w.deleted(t), "t1") {
			t.Errorf("without children: %v", err)
		}
	})
}

// What cannot be written ends a cascade, and is its error.
func TestACascadeThatCannotBeWritten(t *testing.T) {
	for _, fails := range []string{"c11", "t1"} {
		w := family(t)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if key.Thread == fails {
				return store.Outcome{}, store.ErrCorrupt
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); !errors.Is(err, store.ErrCorrupt) || slices.Contains(w.deleted(t), "t1") {
			t.Errorf("%s cannot be written: %v, deleted are %q", fails, err, w.deleted(t))
		}
	}
}

// Children are listed in pages, each behind the last child of the one before.
func TestAllPagesOfChildrenAreDeleted(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hi", ""))
	var pages []string
	w.store.OnListed = func(_ context.Context, _, list string, before *store.Place, limit int) (page []store.Listed, err error) {
		first := 0
		if list != "children:t1" {
			return nil, nil
		}
		if before != nil {
			first = int(before.At)
		}
		pages = append(pages, strconv.Itoa(limit)+" behind "+strconv.Itoa(first))
		for i := first + 1; i <= min(first+limit, 200); i++ {
			page = append(page, store.Listed{Place: store.Place{At: int64(i), Thread: "c" + strconv.Itoa(i)}})
		}
		return page, nil
	}
	looked := map[string]int{}
	w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		looked[key.Thread]++
		return w.store.Backend.Head(ctx, key)
	}
	if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenReject); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"100 behind 0", "100 behind 100", "100 behind 200"}, pages); diff != "" || len(looked) != 201 || looked["c200"] != 1 {
		t.Errorf("%d threads are looked at, the last %d times; pages (-want +got):\n%s", len(looked), looked["c200"], diff)
	}
}
