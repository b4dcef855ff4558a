package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

var journalKey = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// writeVersion makes a Commit with one log record of the size.
func writeVersion(tb testing.TB, s *Store, key core.ThreadKey, version uint64, size int) error {
	tb.Helper()
	out, err := s.Commit(tb.Context(), key, store.Commit{
		Records: []store.Record{{Name: store.LogName(version), Fence: 1, Payload: make([]byte, size)}},
		Head:    thread.Head{Version: version, Seq: version, DueAt: int64(version)},
	})
	if err == nil && !out.Written {
		tb.Errorf("version %d over %d was refused", version, out.Head.Version)
	}
	return err
}

// left is a copy of a store's file as it is while it is open: what a process that
// is killed leaves behind.
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
	head, err := s.Head(t.Context(), journalKey)
	if err != nil {
		t.Fatal(err)
	}
	seen := uint64(0)
	for record, err := range s.Log(t.Context(), journalKey, 1, head.Seq) {
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
		{"one in the journal", 1, 100},
		{"many in the journal", 50, 1000},
		{"more than the journal holds", 40, 100_000},
		{"each larger than the journal", 3, journalSize + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			for v := range tt.writes {
				if err := writeVersion(t, s, journalKey, v+1, tt.size); err != nil {
					t.Fatal(err)
				}
			}
			path := left(t, s)
			if got := version(t, path); got != tt.writes {
				t.Errorf("after a kill the head has version %d, want %d", got, tt.writes)
			}
			if got := version(t, path); got != tt.writes {
				t.Errorf("opened a second time the head has version %d, want %d", got, tt.writes)
			}
		})
	}
}

// What the disk has of a frame whose write was cut short is no write, and the
// frames before it are.
func TestATornFrameEndsTheJournal(t *testing.T) {
	s := newStore(t)
	for v := range uint64(3) {
		if err := writeVersion(t, s, journalKey, v+1, 1000); err != nil {
			t.Fatal(err)
		}
	}
	path, last := left(t, s), s.db.journal.begin+s.db.journal.end-1
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[last] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := version(t, path); got != 2 {
		t.Errorf("with a torn third frame the head has version %d, want 2", got)
	}
}

// Frames from before bbolt's last commit, which still stand behind the new ones,
// count no more.
func TestOldFramesCountNoMore(t *testing.T) {
	s := newStore(t)
	for v := range uint64(5) {
		if err := writeVersion(t, s, journalKey, v+1, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(s.db.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := writeVersion(t, again, journalKey, 6, 1000); err != nil {
		t.Fatal(err)
	}
	if got := version(t, left(t, again)); got != 6 {
		t.Errorf("the head has version %d, want 6", got)
	}
}

// disk is a file that fails or waits where a test says so.
type disk struct {
	journalFile
	write error // of WriteAt, once
	sync  func() error
}

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	if err := d.write; err != nil {
		d.write = nil
		return 0, err
	}
	return d.journalFile.WriteAt(b, at)
}

func (d *disk) Sync() error {
	if d.sync != nil {
		return d.sync()
	}
	return d.journalFile.Sync()
}

// A write that the disk refuses is not seen, and does not harm the next one.
func TestAWriteThatFailsIsTakenBack(t *testing.T) {
	full := errors.New("the disk is full")
	for _, name := range []string{"write", "sync"} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if err := writeVersion(t, s, journalKey, 1, 1000); err != nil {
				t.Fatal(err)
			}
			d := &disk{journalFile: s.db.journal.file}
			s.db.journal.file = d
			if name == "write" {
				d.write = full
			} else {
				d.sync = func() error { d.sync = nil; return full }
			}
			if err := writeVersion(t, s, journalKey, 2, 1000); !errors.Is(err, full) || core.CodeOf(err) != core.CodeUnavailable {
				t.Errorf("Commit on a full disk returns %v (code %s), want its error with code unavailable", err, core.CodeOf(err))
			}
			if head, err := s.Head(t.Context(), journalKey); head.Version != 1 || err != nil {
				t.Errorf("then the head has version %d, %v, want 1", head.Version, err)
			}
			if err := writeVersion(t, s, journalKey, 2, 500); err != nil {
				t.Errorf("the same Commit again returns %v", err)
			}
			if got := version(t, left(t, s)); got != 2 {
				t.Errorf("after a kill the head has version %d, want 2", got)
			}
		})
	}
}

// Nobody sees what is not on the disk yet; who reads another thread does not wait
// for it.
func TestReadersOfAThreadWaitForItsWrite(t *testing.T) {
	s := newStore(t)
	other := core.ThreadKey{Tenant: "acme", Thread: "t2"}
	if err := writeVersion(t, s, journalKey, 1, 100); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		onDisk := make(chan struct{})
		s.db.journal.file = &disk{journalFile: s.db.journal.file, sync: func() error { <-onDisk; return nil }}
		written, read := make(chan error), make(chan uint64)
		go func() { written <- writeVersion(t, s, journalKey, 2, 100) }()
		synctest.Wait()
		go func() {
			head, _ := s.Head(t.Context(), journalKey)
			read <- head.Version
		}()
		if head, err := s.Head(t.Context(), other); head.Exists() || err != nil {
			t.Errorf("Head of another thread returns version %d, %v, want none", head.Version, err)
		}
		synctest.Wait()
		select {
		case v := <-read:
			t.Errorf("while version 2 is not on the disk Head returns version %d", v)
		default:
		}
		close(onDisk)
		if err := <-written; err != nil {
			t.Error(err)
		}
		if v := <-read; v != 2 {
			t.Errorf("then Head returns version %d, want 2", v)
		}
	})
}

func TestAReadWaitsForWhatMayConcernIt(t *testing.T) {
	tests := []struct {
		written, read string
		want          bool
	}{
		{"t1", "t1", true}, {"t1", "t2", false},
		{"t1", "", true}, // all threads are read
		{"", "t1", true}, // a purge
	}
	for _, tt := range tests {
		s := syncing{threads: map[string]struct{}{tt.written: {}}}
		if got := s.concerns(tt.read); got != tt.want {
			t.Errorf("a write of %q concerns a read of %q: %v, want %v", tt.written, tt.read, got, tt.want)
		}
	}
}

// A file of the schema before has no journal; it gets one.
func TestAFileOfTheSchemaBeforeIsTaken(t *testing.T) {
	s := newStore(t)
	if err := errors.Join(writeVersion(t, s, journalKey, 1, 100), s.Close()); err != nil {
		t.Fatal(err)
	}
	makeSchemaBefore(t, s.db.path)
	again, err := Open(s.db.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := writeVersion(t, again, journalKey, 2, 100); err != nil {
		t.Fatal(err)
	}
	if got := version(t, left(t, again)); got != 2 {
		t.Errorf("the head has version %d, want 2", got)
	}
}

// makeSchemaBefore takes its journal from a file.
func makeSchemaBefore(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket(journalBucket), tx.Bucket(metaBucket).Put(schemaKey, fmt.Append(nil, schemaNumber-1)))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// What bbolt's map shows as the journal must be where frames are written.
func TestAJournalThatIsNotInItsPlaceIsRefused(t *testing.T) {
	s := newStore(t)
	if err := errors.Join(writeVersion(t, s, journalKey, 1, 100), s.Close()); err != nil {
		t.Fatal(err)
	}
	elsewhere := func(_ *bbolt.DB, file journalFile) journalFile { return shifted{file} }
	_, err := openDatabase(s.db.path, opening{timeout: time.Second, disk: elsewhere})
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "is no journal; file "+s.db.path+" is damaged") {
		t.Errorf("Open returns %v, want ErrCorrupt that names the file", err)
	}
	if got := version(t, s.db.path); got != 1 {
		t.Errorf("then the head has version %d, want 1: the file was not to be changed", got)
	}
}

// shifted is a file that is read a page further on.
type shifted struct{ journalFile }

func (s shifted) ReadAt(b []byte, at int64) (int, error) {
	if len(b) == journalHeader {
		at += 4096
	}
	return s.journalFile.ReadAt(b, at)
}

// A frame whose writer was told that it failed does not come back at the next
// start, when somebody has read the state without it.
func TestAFrameThatFailedDoesNotComeBack(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, journalKey, 1, 1000); err != nil {
		t.Fatal(err)
	}
	d := &disk{journalFile: s.db.journal.file}
	d.sync = func() error { d.sync = nil; return errBroken }
	s.db.journal.file = d
	if err := writeVersion(t, s, journalKey, 2, 1000); !errors.Is(err, errBroken) {
		t.Fatalf("Commit returns %v, want the disk's error", err)
	}
	if head, err := s.Head(t.Context(), journalKey); head.Version != 1 || err != nil {
		t.Errorf("then the head has version %d, %v, want 1", head.Version, err)
	}
	if got := version(t, left(t, s)); got != 1 {
		t.Errorf("after a restart the head has version %d, want 1 as before", got)
	}
}

// While the disk does not say how the last write ended, nobody reads what may be
// otherwise after a restart.
func TestNothingIsReadWhileTheDiskFails(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, journalKey, 1, 1000); err != nil {
		t.Fatal(err)
	}
	d := &disk{journalFile: s.db.disk, sync: func() error { return errBroken }}
	s.db.disk, s.db.journal.file = d, d
	if err := writeVersion(t, s, journalKey, 2, 1000); !errors.Is(err, errBroken) {
		t.Fatalf("Commit returns %v, want the disk's error", err)
	}
	if _, err := s.Head(t.Context(), journalKey); core.CodeOf(err) != core.CodeUnavailable || !errors.Is(err, errBroken) {
		t.Errorf("then Head returns %v, want the disk's error with code unavailable", err)
	}
	d.sync = nil
	if head, err := s.Head(t.Context(), journalKey); head.Version != 1 || err != nil {
		t.Errorf("when the disk works again the head has version %d, %v, want 1", head.Version, err)
	}
}

// bbolt may have written the meta page of a commit whose sync failed. The frames
// of that commit must not be written over before the meta page is on the disk.
func TestACommitWhoseSyncFailedIsSyncedAgain(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, journalKey, 1, 1000); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	d := &disk{journalFile: s.db.disk, sync: func() error { syncs++; return nil }}
	s.db.disk, s.db.journal.file = d, d
	hookWrites(s.db.db, func(b []byte, at int64) (int, error) {
		n, err := s.db.file.WriteAt(b, at)
		if at < 8192 {
			err = errBroken
		}
		return n, err
	})
	if err := writeVersion(t, s, journalKey, 2, journalSize); !errors.Is(err, errBroken) {
		t.Fatalf("Commit returns %v, want the disk's error", err)
	}
	if head, err := s.Head(t.Context(), journalKey); head.Version != 2 || err != nil || syncs != 1 {
		t.Errorf("then the head has version %d, %v after %d syncs, want 2 after 1", head.Version, err, syncs)
	}
}

// What a large write takes is not kept.
func TestLargeWritesLeaveNoLargeBuffers(t *testing.T) {
	s := newStore(t)
	if err := writeVersion(t, s, journalKey, 1, 8<<20); err != nil {
		t.Fatal(err)
	}
	if got := cap(s.db.operations) + cap(s.db.journal.buffer); got > 2*journalSize {
		t.Errorf("after a write of 8 MiB %d bytes are kept for the next one, want no more than two journals", got)
	}
}
