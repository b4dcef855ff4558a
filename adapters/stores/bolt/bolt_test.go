package bolt_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var key = core.ThreadKey{Tenant: "acme", Thread: "t1"}

func open(t testing.TB, path string, options bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // closing twice is allowed
	return s
}

// commit makes a Commit that must be accepted.
func commit(t testing.TB, s *bolt.Store, key core.ThreadKey, c store.Commit) {
	t.Helper()
	if out, err := s.Commit(t.Context(), key, c); !out.Written || err != nil {
		t.Fatalf("Commit(%s, version %d) returns %+v, %v", key, c.Head.Version, out, err)
	}
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "reveille.db") }

func TestContract(t *testing.T) {
	t.Parallel()
	path := ""
	options := storetest.Options{MaxPayload: 400 << 10, Reopen: func(t *testing.T, b store.Backend) store.Backend {
		if err := b.(*bolt.Store).Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, path, bolt.Options{})
	}}
	options.Run(t, func(t *testing.T) store.Backend {
		path = newPath(t)
		return open(t, path, bolt.Options{MaxPayload: 400 << 10})
	})
}

func TestReopenedFileHasEverything(t *testing.T) {
	ctx, path := t.Context(), newPath(t)
	head := store.Head{Layout: 1, Schema: 1, Version: 1, CommitID: core.ID{1}, Seq: 1, DueAt: 5000}
	record := store.Record{Name: store.LogName(1), Fence: 3, Payload: []byte("hello"), Expires: 4_102_444_800}

	s := open(t, path, bolt.Options{})
	commit(t, s, key, store.Commit{
		Pointers: []store.Pointer{{Name: "run", Value: []byte("t1"), TTL: time.Hour}}, Records: []store.Record{record}, Head: head,
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, path, bolt.Options{})
	if got, err := s.Head(ctx, key); err != nil || cmp.Diff(head, got) != "" {
		t.Errorf("Head after reopening (-want +got), %v:\n%s", err, cmp.Diff(head, got))
	}
	if got, ok, err := s.Get(ctx, key, record.Name); !ok || err != nil || cmp.Diff(record, got) != "" {
		t.Errorf("Get after reopening returns ok=%v, %v (-want +got):\n%s", ok, err, cmp.Diff(record, got))
	}
	if got, ok, err := s.Pointer(ctx, "acme", "run"); !ok || err != nil || string(got) != "t1" {
		t.Errorf("Pointer after reopening returns %q, %v, %v", got, ok, err)
	}
	due, err := s.Overdue(ctx, store.Overdue{Key: key}.Shard(), 5000, nil, 10)
	if want := (store.Overdue{Key: key, At: 5000}); err != nil || len(due) != 1 || due[0] != want {
		t.Errorf("Overdue after reopening returns %v, %v, want %v", due, err, want)
	}
}

// What a method has returned for is in the file even if the process dies: a
// copy of the file that is taken while the store is open has it.
func TestWritesAreInTheFileWhenTheyReturn(t *testing.T) {
	ctx, path := t.Context(), newPath(t)
	s := open(t, path, bolt.Options{})
	for version := uint64(1); version <= 5; version++ {
		commit(t, s, key, store.Commit{Head: store.Head{Version: version}})
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := newPath(t)
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := open(t, copied, bolt.Options{}).Head(ctx, key); err != nil || got.Version != version {
			t.Fatalf("the copy has version %d, %v, want %d", got.Version, err, version)
		}
	}
}

func TestSecondOpenIsLocked(t *testing.T) {
	path := newPath(t)
	open(t, path, bolt.Options{})
	_, err := bolt.Open(path, bolt.Options{LockTimeout: time.Millisecond})
	if !errors.Is(err, bolt.ErrLocked) {
		t.Fatalf("second Open returns the error %v, want ErrLocked", err)
	}
	want := "open store " + path + ": another process has the file open (waited 1ms for its lock)"
	if err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestOpenMakesFolderAndFilePrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", ".reveille")
	path := filepath.Join(folder, "reveille.db")
	open(t, path, bolt.Options{})
	for name, want := range map[string]os.FileMode{folder: 0o700, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s is %o, want %o", name, got, want)
		}
	}
}

func TestOpenRefusesWhatItDidNotWrite(t *testing.T) {
	schema := func(number string) func(tx *bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte(number))
		}
	}
	tests := []struct {
		name string
		edit func(tx *bbolt.Tx) error
		code core.Code
		text string
	}{
		{"newer schema", schema("6"), core.CodeSchema, "the file was written by another version of the program, a newer one (schema 6, this one reads 5): run that version, or move the file away to start with an empty one"},
		{"no number", schema("one"), core.CodeCorrupt, `schema number "one" is not one; file PATH is damaged: restore it from a copy, or move it away to start with an empty file`},
		{"zero", schema("0"), core.CodeCorrupt, `schema number "0" is not one; file PATH is damaged: restore it from a copy, or move it away to start with an empty file`},
		{"bucket missing", func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("usage")) }, core.CodeCorrupt, `bucket "usage" is missing; file PATH is damaged: restore it from a copy, or move it away to start with an empty file`},
		{"another program's", func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("meta")) }, core.CodeInvalid, `the file is a database of another program: it has no schema number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := newPath(t)
			edit(t, path, tt.edit)
			_, err := bolt.Open(path, bolt.Options{})
			want := "open store " + path + ": " + strings.ReplaceAll(tt.text, "PATH", path)
			if core.CodeOf(err) != tt.code || err.Error() != want {
				t.Errorf("Open returns the error %v (code %s), want %q with code %s", err, core.CodeOf(err), want, tt.code)
			}
			again, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Millisecond})
			if err != nil {
				t.Fatalf("the refused file is still locked: %v", err)
			}
			_ = again.Close()
		})
	}
}

// A file of a format that was never released names its remedy, and stays as it is.
func TestOpenRefusesEarlierFormats(t *testing.T) {
	for schema, buckets := range map[string][]string{"2": {"heads", "records"}, "3": {"heads", "records", "journal"}, "4": {"threads", "pointers"}} {
		path := newPath(t)
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			for _, name := range append(buckets, "meta") {
				bucket, err := tx.CreateBucket([]byte(name))
				if err == nil {
					err = bucket.Put([]byte("schema"), []byte(schema))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		content := read(t, path)
		_, err = bolt.Open(path, bolt.Options{})
		want := "open store " + path + ": the file was written by another version of the program, an older one (schema " + schema + ", this one reads 5): move the file away to start with an empty one, or open it with that version"
		if core.CodeOf(err) != core.CodeSchema || err.Error() != want {
			t.Errorf("Open returns the error %v, want %s", err, want)
		}
		if !bytes.Equal(read(t, path), content) {
			t.Errorf("Open has changed the file of schema %s", schema)
		}
	}
}

func TestOpenLeavesAFileThatIsNoDatabase(t *testing.T) {
	path := newPath(t)
	content := strings.Repeat("no database\n", 1000)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(path, bolt.Options{}); err == nil || err.Error() != "open store "+path+": the file is not a database of this program" {
		t.Errorf("Open returns the error %v, want one that names the file", err)
	}
	if got, _ := os.ReadFile(path); string(got) != content {
		t.Error("Open changed a file that is no database")
	}
}

func TestClosedStoreFails(t *testing.T) {
	s := open(t, newPath(t), bolt.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(t.Context(), key); err == nil {
		t.Error("Head of a closed store returns no error")
	}
	if err := s.Put(t.Context(), key, store.Record{Name: "R#1"}); err == nil {
		t.Error("Put into a closed store returns no error")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice returns %v", err)
	}
}

// edit changes a file of the store behind the store's back.
func edit(t *testing.T, path string, change func(tx *bbolt.Tx) error) {
	t.Helper()
	if err := open(t, path, bolt.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return errors.Join(change(tx), bolt.Resum(tx)) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNamesHaveALimit(t *testing.T) {
	ctx, s := t.Context(), open(t, newPath(t), bolt.Options{})
	const limit = 16384 - len("acme\x00t1\x00")
	name := "R#" + strings.Repeat("x", limit-2)
	expiring := store.Record{Name: name, Expires: 4_102_444_800}
	if err := s.Put(ctx, key, expiring); err != nil {
		t.Errorf("a name of %d bytes is refused: %v", limit, err)
	}
	expiring.Name += "x"
	if err := s.Put(ctx, key, expiring); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a name of %d bytes returns the error %v, want code invalid", limit+1, err)
	}
	long := store.Pointer{Name: strings.Repeat("x", 16384), TTL: time.Hour}
	if _, err := s.Commit(ctx, key, store.Commit{Pointers: []store.Pointer{long}, Head: store.Head{Version: 1}}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a pointer's name of 16 KB returns the error %v, want code invalid", err)
	}
}
