package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var diskKey = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// writeVersion makes a Commit with one log record of the size.
func writeVersion(tb testing.TB, s *Store, version uint64, size int) error {
	tb.Helper()
	out, err := s.Commit(tb.Context(), diskKey, store.Commit{
		Records: []store.Record{{Name: store.LogName(version), Fence: 1, Payload: make([]byte, size)}},
		Head:    store.Head{Version: version, Seq: version, DueAt: int64(version)},
	})
	if err == nil && !out.Written {
		tb.Errorf("version %d over %d was refused", version, out.Head.Version)
	}
	return err
}

// left is a copy of a store's file as it is while it is open: what a process that
// is killed leaves.
func left(t *testing.T, s *Store) string {
	t.Helper()
	content, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "left.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// version opens a file and returns the version of its thread, whose log must go
// as far.
func version(t *testing.T, path string) uint64 {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head, err := s.Head(t.Context(), diskKey)
	if err != nil {
		t.Fatal(err)
	}
	seen := uint64(0)
	for record, err := range s.Log(t.Context(), diskKey, 1, head.Seq) {
		if seen++; err != nil || record.Name != store.LogName(seen) {
			t.Fatalf("the log has %s, %v where %d belongs", record.Name, err, seen)
		}
	}
	if seen != head.Seq {
		t.Errorf("the log ends at %d, the head says %d", seen, head.Seq)
	}
	return head.Version
}

func TestEveryWriteIsThereAfterAKill(t *testing.T) {
	tests := []struct {
		name   string
		writes uint64
		size   int
	}{
		{"one", 1, 100}, {"many", 50, 1000}, {"large ones", 3, 2 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			for v := range tt.writes {
				if err := writeVersion(t, s, v+1, tt.size); err != nil {
					t.Fatal(err)
				}
			}
			path := left(t, s)
			for range 2 {
				if got := version(t, path); got != tt.writes {
					t.Errorf("after a kill the head has version %d, want %d", got, tt.writes)
				}
			}
		})
	}
}

// failing is a disk that refuses to write or to sync while a test says so.
type failing struct {
	rawFile
	refuses bool
	syncs   int
}

func (f *failing) Sync() error {
	f.syncs++
	if f.refuses {
		return errBroken
	}
	return f.rawFile.Sync()
}

// failAt makes bbolt's next write fail that is of a meta page, or of another; written says
// that the file shows it all the same, as when its sync fails.
func failAt(s *Store, meta, written bool) {
	failed := false
	hookWrites(s.db.db, func(b []byte, at int64) (int, error) {
		fails := !failed && meta == (at < int64(2*s.db.pageSize))
		failed = failed || fails
		if fails && !written {
			return 0, errBroken
		}
		n, err := s.db.file.WriteAt(b, at)
		if fails {
			err = errBroken
		}
		return n, err
	})
}

// A transaction that the disk refuses is not seen, and does not harm the next one.
func TestAWriteThatFailsIsNotThere(t *testing.T) {
	for name, meta := range map[string]bool{"page": false, "meta page": true} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if err := writeVersion(t, s, 1, 1000); err != nil {
				t.Fatal(err)
			}
			failAt(s, meta, false)
			if err := writeVersion(t, s, 2, 1000); !errors.Is(err, errBroken) || !errors.Is(err, store.ErrUnwritable) {
				t.Errorf("Commit returns %v (code %s), want the disk's error and ErrUnwritable", err, core.CodeOf(err))
			}
			if head, err := s.Head(t.Context(), diskKey); head.Version != 1 || err != nil {
				t.Errorf("then the head has version %d, %v, want 1", head.Version, err)
			}
			if err := writeVersion(t, s, 2, 500); err != nil {
				t.Errorf("the same Commit again returns %v", err)
			}
			if got := version(t, left(t, s)); got != 2 {
				t.Errorf("after a kill the head has version %d, want 2", got)
			}
		})
	}
}

// While it is not known whether the disk has the newest transaction, nothing is read. Its
// meta page is written again before anything goes on from it.
func TestNothingIsReadUntilTheDiskHasIt(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, 1, 1000); err != nil {
		t.Fatal(err)
	}
	disk := &failing{rawFile: s.db.disk, refuses: true}
	s.db.disk = disk
	failAt(s, true, true)
	if err := writeVersion(t, s, 2, 1000); !errors.Is(err, errBroken) {
		t.Fatalf("Commit returns %v, want the disk's error", err)
	}
	for range 2 {
		if _, err := s.Head(t.Context(), diskKey); !errors.Is(err, store.ErrUnwritable) || !errors.Is(err, errBroken) {
			t.Errorf("then Head returns %v, want the disk's error and ErrUnwritable", err)
		}
	}
	disk.refuses = false
	if head, err := s.Head(t.Context(), diskKey); head.Version != 2 || err != nil || disk.syncs != 3 {
		t.Errorf("when the disk works again the head has version %d, %v after %d syncs, want 2 after 3", head.Version, err, disk.syncs)
	}
	if due, err := s.Overdue(t.Context(), (store.Overdue{Key: diskKey}).Shard(), 10, nil, 10); err != nil || len(due) != 1 || due[0].At != 2 {
		t.Errorf("Overdue returns %v, %v, want what the newest head says", due, err)
	}
}

// bbolt shows a transaction before it is on the disk.
func TestAReadWaitsForItsTransaction(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, 1, 100); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &committing{transaction: s.db.writer.Load().transaction, over: make(chan struct{})}
		s.db.writer.Store(w)
		read := make(chan error)
		go func() { _, err := s.Head(t.Context(), diskKey); read <- err }()
		synctest.Wait()
		select {
		case err := <-read:
			t.Errorf("while the transaction is not on the disk Head returns %v", err)
		default:
		}
		close(w.over)
		if err := <-read; err != nil {
			t.Errorf("then Head returns %v", err)
		}
	})
}

func TestReadsAreParallel(t *testing.T) {
	s := newStore(t)
	outer := s.db.view(func(*bbolt.Tx) error {
		inner := make(chan error)
		go func() { inner <- s.db.view(func(*bbolt.Tx) error { return nil }) }()
		return <-inner
	})
	if outer != nil {
		t.Error(outer)
	}
}
