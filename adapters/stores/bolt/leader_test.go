package bolt

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "reveille.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// commitTogether applies changes, in this order, as if their callers had come
// while another one commits.
func commitTogether(s *Store, changes ...change) []error {
	s.leader.turn <- struct{}{} // another call commits
	var wait sync.WaitGroup
	errs := make([]error, len(changes))
	for i, c := range changes {
		wait.Go(func() { errs[i] = s.leader.do(c) })
		for queued := 0; queued <= i; runtime.Gosched() {
			s.leader.mu.Lock()
			queued = len(s.leader.waiting)
			s.leader.mu.Unlock()
		}
	}
	<-s.leader.turn
	wait.Wait()
	return errs
}

func transactions(s *Store) int64 {
	n, _ := s.Stats()
	return n
}

func has(t *testing.T, s *Store, key string) (found bool) {
	t.Helper()
	err := s.db.view(func(tx *bbolt.Tx) error { found = tx.Bucket(metaBucket).Get([]byte(key)) != nil; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(key string) change {
	return func(w *writeTx) (bool, error) { return true, w.put(metaBucket, []byte(key), []byte("x")) }
}

var errRefused, errBroken = errors.New("refused"), errors.New("broken")

func refuse(*writeTx) (bool, error) { return false, errRefused }

// failHalfway fails after it has written.
func failHalfway(w *writeTx) (bool, error) {
	return true, errors.Join(w.put(metaBucket, []byte("half"), []byte{}), errBroken)
}

func TestWaitingChangesShareATransaction(t *testing.T) {
	s := newStore(t)
	before := transactions(s)
	errs := commitTogether(s, put("a"), refuse, put("b"), put("c"))
	if errs[0] != nil || errs[1] != errRefused || errs[2] != nil || errs[3] != nil {
		t.Errorf("the changes return %v, want only the second one refused", errs)
	}
	if got := transactions(s) - before; got != 1 {
		t.Errorf("they took %d transactions, want 1", got)
	}
	if !has(t, s, "a") || !has(t, s, "b") || !has(t, s, "c") {
		t.Error("a change is missing")
	}
}

func TestAChangeThatFailsHalfwayHarmsNoOther(t *testing.T) {
	s := newStore(t)
	errs := commitTogether(s, put("a"), failHalfway, refuse, put("b"))
	if errs[0] != nil || !errors.Is(errs[1], errBroken) || errs[2] != errRefused || errs[3] != nil {
		t.Errorf("the changes return %v, want the second one broken and the third refused", errs)
	}
	if !has(t, s, "a") || !has(t, s, "b") {
		t.Error("a change is missing that shared its transaction with a broken one")
	}
	if has(t, s, "half") {
		t.Error("the broken change left what it had written")
	}
}

func TestAPanicBecomesAnError(t *testing.T) {
	s := newStore(t)
	errs := commitTogether(s, put("a"), func(*writeTx) (bool, error) { panic("page 7 is damaged") })
	if errs[0] != nil || errs[1] == nil || errs[1].Error() != "panic: page 7 is damaged; file "+s.db.path+" is damaged: restore it from a copy, or move it away to start with an empty file" {
		t.Errorf("the changes return %v, want the second one to tell of the panic and of the file", errs)
	}
	if err := s.leader.do(put("b")); err != nil {
		t.Errorf("the store is stuck after a panic: %v", err)
	}
}

func TestRefusedChangesSyncNothing(t *testing.T) {
	s := newStore(t)
	before := transactions(s)
	if err := s.leader.do(refuse); err != errRefused {
		t.Errorf("the change returns %v, want the refusal", err)
	}
	if err := s.leader.do(func(*writeTx) (bool, error) { return false, nil }); err != nil {
		t.Errorf("a change that found its bytes stored returns %v", err)
	}
	if got := transactions(s) - before; got != 0 {
		t.Errorf("%d transactions were committed, want 0", got)
	}
}
