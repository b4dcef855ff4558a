package bolt_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/thread"
)

func wantWaiting(t *testing.T, s *bolt.Store, want ...store.Waiting) {
	t.Helper()
	got, err := s.Waiting(t.Context(), key.Tenant, nil, 10)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Waiting returns the error %v (-want +got):\n%s", err, diff)
	}
}

// The index is written with the head, and no write between two commits of bbolt
// leaves it behind.
func TestWhatWaitsIsThereAfterAKill(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	other := core.ThreadKey{Tenant: key.Tenant, Thread: "other"}
	killed := func() *bolt.Store {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := newPath(t)
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return open(t, copied, bolt.Options{})
	}
	wantWaiting(t, killed())
	commit(t, s, other, store.Commit{Head: thread.Head{Version: 1}}) // in the journal
	commit(t, s, key, store.Commit{Head: storetest.WaitingHead(t, 1, 500)})
	commit(t, s, other, store.Commit{Head: thread.Head{Version: 2}})
	wantWaiting(t, killed(), store.Waiting{Thread: "t1", Since: 500})
	commit(t, s, key, store.Commit{Head: storetest.WaitingHead(t, 2, 500)})
	commit(t, s, other, store.Commit{Head: storetest.WaitingHead(t, 3, 400)})
	after := killed()
	wantWaiting(t, after, store.Waiting{Thread: "other", Since: 400}, store.Waiting{Thread: "t1", Since: 500})
	commit(t, s, key, store.Commit{Head: thread.Head{Version: 3}})
	wantWaiting(t, killed(), store.Waiting{Thread: "other", Since: 400})
	if head, err := after.Head(t.Context(), other); err != nil || head.Version != 3 {
		t.Errorf("the other head has version %d, %v, want 3", head.Version, err)
	}
}

// A head counts and not its entry: a program without the index has moved one head
// on, and what stands at another entry is damaged.
func TestTheIndexOfWhatWaitsIsNotBelieved(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	for i, name := range []string{"t1", "t2", "t3"} {
		commit(t, s, core.ThreadKey{Tenant: key.Tenant, Thread: name}, store.Commit{Head: storetest.WaitingHead(t, 1, int64(i+1))})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		h := thread.Head{Version: 2}
		if err := tx.Bucket([]byte("heads")).Put([]byte("acme\x00t1"), bolt.SealHead(key, h.AppendBinary(nil))); err != nil {
			return err
		}
		waiting := tx.Bucket([]byte("waiting"))
		for _, k := range []string{"acme\x00", "acme\x00\x00\x00", "acme\x00\x00\x00\x00\x00\x00\x00\x00\x09gone", "acme\x00\xff\xff\xff\xff\xff\xff\xff\xff#"} {
			if err := waiting.Put([]byte(k), nil); err != nil {
				return err
			}
		}
		return nil
	})
	wantWaiting(t, open(t, path, bolt.Options{}), store.Waiting{Thread: "t2", Since: 2}, store.Waiting{Thread: "t3", Since: 3})
}
