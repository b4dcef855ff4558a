package bolt_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func unix(second int64) time.Time { return time.Unix(second, 0) }

func firstError(log iter.Seq2[store.Record, error]) error {
	for _, err := range log {
		if err != nil {
			return err
		}
	}
	return nil
}

func filledKeys() (keys []core.ThreadKey) {
	for i := range 20 {
		keys = append(keys, core.ThreadKey{Tenant: "acme", Thread: fmt.Sprint("t", i)})
	}
	return keys
}

// filledCommit is the version'th Commit to a thread of a filled file.
func filledCommit(key core.ThreadKey, version uint64) store.Commit {
	payload := []byte(strings.Repeat(key.Thread+" ", 300))
	return store.Commit{
		Pointers: []store.Pointer{{Name: fmt.Sprint(key.Thread, ".", version), Value: payload[:20], TTL: time.Hour}},
		Records:  []store.Record{{Name: store.LogName(version), Fence: 1, Payload: payload}, {Name: "R#1", Fence: 1, Version: version, Payload: payload}},
		Head:     store.Head{Version: version, Seq: version, DueAt: int64(version)},
	}
}

// A file that is cut under a running host is an error of every call from then
// on, not the end of the process.
func TestAFileThatIsCutWhileItIsOpenIsCorrupt(t *testing.T) {
	for _, size := range []int64{0, 4096, 20_000} {
		path := newPath(t)
		if err := os.WriteFile(path, filled(t), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, bolt.Options{})
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		_, headErr := s.Head(t.Context(), key)
		_, commitErr := s.Commit(t.Context(), key, filledCommit(key, 2))
		for method, err := range map[string]error{"Head": headErr, "Commit": commitErr} {
			if !errors.Is(err, store.ErrCorrupt) || !strings.HasSuffix(err.Error(), remedy(path)) {
				t.Errorf("%s of a file that was cut to %d bytes returns the error %v, want ErrCorrupt with the remedy", method, size, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close of a file that was cut to %d bytes: %v", size, err)
		}
	}
}

// A file that has grown since it was opened is cut short when it is longer than
// it was then, too.
func TestAFileThatIsCutToItsFirstLengthIsCorrupt(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	opened, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, key, store.Commit{
		Records: []store.Record{{Name: store.LogName(1), Fence: 1, Payload: make([]byte, 2<<20)}}, Head: store.Head{Version: 1},
	})
	if err := os.Truncate(path, opened.Size()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); !errors.Is(err, store.ErrCorrupt) || !strings.HasSuffix(err.Error(), remedy(path)) {
		t.Errorf("Check of a file that was cut to its length at its opening returns %v, want ErrCorrupt with the remedy", err)
	}
}

// What is written to a file that was deleted is gone when the process ends.
func TestAFileThatIsTakenAwayIsNoticed(t *testing.T) {
	tests := []struct {
		name string
		take func(path string) error
	}{
		{"deleted", os.Remove},
		{"moved", func(path string) error { return os.Rename(path, path+".moved") }},
		{"replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("x"), 0o600), os.Rename(path+".new", path))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, ctx := newPath(t), t.Context()
			s := open(t, path, bolt.Options{})
			commit(t, s, key, filledCommit(key, 1))
			if err := tt.take(path); err != nil {
				t.Fatal(err)
			}
			_, commitErr := s.Commit(ctx, key, filledCommit(key, 2))
			_, sweepErr := s.Overdue(ctx, 0, 1, nil, 1)
			for method, err := range map[string]error{"Commit": commitErr, "Put": s.Put(ctx, key, store.Record{Name: "R#2", Fence: 1}), "Overdue": sweepErr} {
				want := path + ": the file was deleted, moved or replaced while it was open; restore it, or restart the program to start with an empty file"
				if !errors.Is(err, bolt.ErrReplaced) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s returns the error %v, want one that ends in %q", method, err, want)
				}
			}
			if head, err := s.Head(ctx, key); head.Version != 1 || err != nil {
				t.Errorf("after the refused Commit the head has version %d, %v, want 1", head.Version, err)
			}
		})
	}
}

func TestAFileThatIsPutBackIsWrittenAgain(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), key, filledCommit(key, 1)); !errors.Is(err, bolt.ErrReplaced) {
		t.Fatalf("Commit to a moved file returns the error %v, want ErrReplaced", err)
	}
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	commit(t, s, key, filledCommit(key, 1))
}

// Where bbolt panics while it holds its locks, nobody may wait for them.
func TestMetaPagesThatAreOverwrittenWhileOpenHangNobody(t *testing.T) {
	path := newPath(t)
	whole := filled(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, bolt.Options{})
	if err := overwrite(path, make([]byte, 3*4096)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, headErr := s.Head(t.Context(), key)
		_, commitErr := s.Commit(t.Context(), key, filledCommit(key, 2))
		for method, err := range map[string]error{"Head": headErr, "Commit": commitErr} {
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "the store cannot continue, restart the program: ") {
				t.Errorf("%s returns the error %v, want one that says that the store cannot go on", method, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close returns %v", err)
	}
	if err := overwrite(path, whole); err != nil {
		t.Fatal(err)
	}
	if head, err := open(t, path, bolt.Options{}).Head(t.Context(), key); err != nil || head.Version != 1 {
		t.Errorf("of the restored file Head returns version %d, %v, want 1", head.Version, err)
	}
}

// overwrite changes the beginning of a file that stays the same one.
func overwrite(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return errors.Join(err, file.Close())
}

// A copy of a closed file that takes its place later is the store as it was: what
// came after it is gone, and what comes next is as if it had never been.
func TestARestoredCopyIsTheFileAsItWas(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	commit(t, s, key, filledCommit(key, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, path, bolt.Options{})
	lost := filledCommit(key, 2)
	lost.Records = []store.Record{{Name: store.LogName(7), Fence: 9, Payload: []byte("lost")}}
	commit(t, s, key, lost)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}

	s = open(t, path, bolt.Options{})
	if head, err := s.Head(t.Context(), key); err != nil || head.Version != 1 {
		t.Errorf("Head of the restored file returns version %d, %v, want 1", head.Version, err)
	}
	if _, ok, err := s.Get(t.Context(), key, store.LogName(7)); ok || err != nil {
		t.Errorf("a record that was put after the copy is there: %v, %v", ok, err)
	}
	again := filledCommit(key, 2)
	again.Records = []store.Record{{Name: store.LogName(7), Fence: 1, Payload: []byte("again")}} // no fence of the lost time refuses it
	commit(t, s, key, again)
	if record, _, err := s.Get(t.Context(), key, store.LogName(7)); err != nil || string(record.Payload) != "again" {
		t.Errorf("what is put in its place reads %q, %v", record.Payload, err)
	}
}
