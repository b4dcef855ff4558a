package bolt_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

func wantWaiting(t *testing.T, s *bolt.Store, want ...store.Waiting) {
	t.Helper()
	got, err := s.Waiting(t.Context(), key.Tenant, nil, 10)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Waiting returns the error %v (-want +got):\n%s", err, diff)
	}
}

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
	commit(t, s, other, store.Commit{Head: store.Head{Version: 1}})
	commit(t, s, key, store.Commit{Head: storetest.WaitingHead(t, 1, 500)})
	commit(t, s, other, store.Commit{Head: store.Head{Version: 2}})
	wantWaiting(t, killed(), store.Waiting{Thread: "t1", Since: 500})
	commit(t, s, key, store.Commit{Head: storetest.WaitingHead(t, 2, 500)})
	commit(t, s, other, store.Commit{Head: storetest.WaitingHead(t, 3, 400)})
	after := killed()
	wantWaiting(t, after, store.Waiting{Thread: "other", Since: 400}, store.Waiting{Thread: "t1", Since: 500})
	commit(t, s, key, store.Commit{Head: store.Head{Version: 3}})
	wantWaiting(t, killed(), store.Waiting{Thread: "other", Since: 400})
	if head, err := after.Head(t.Context(), other); err != nil || head.Version != 3 {
		t.Errorf("the other head has version %d, %v, want 3", head.Version, err)
	}
}
