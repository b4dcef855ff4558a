package bolt_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// remedy is what an error about a damaged file ends in.
func remedy(path string) string {
	return "; file " + path + " is damaged: restore it from a copy, or move it away to start with an empty file"
}

// TestDamageConcernsItsThreadAlone changes a byte in a value of each kind of one
// thread and uses it and its neighbour.
func TestDamageConcernsItsThreadAlone(t *testing.T) {
	path, ctx := newPath(t), t.Context()
	neighbour := core.ThreadKey{Tenant: "acme", Thread: "t2"}
	first := func(key core.ThreadKey) store.Commit {
		return store.Commit{
			Pointers: []store.Pointer{{Name: "run-" + key.Thread, Value: []byte("pointer")}},
			Records:  []store.Record{{Name: store.LogName(1), Fence: 1, Payload: []byte("log")}, {Name: "R#1", Fence: 1, Version: 1, Payload: []byte("run")}},
			Head:     store.Head{Version: 1, Seq: 1, Owner: "person", DueAt: 5},
		}
	}
	s := open(t, path, bolt.Options{})
	commit(t, s, key, first(key))
	commit(t, s, neighbour, first(neighbour))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		return errors.Join(
			replace(tx, "threads", "acme\x00t1\x00", "person", "pers0n"),
			replace(tx, "threads", "acme\x00t1\x00M#000000000001", "log", "l0g"),
			replace(tx, "threads", "acme\x00t1\x00R#1", "run", "r"),
			replace(tx, "pointers", "acme\x00run-t1", "pointer", "p0inter"),
		)
	})

	s = open(t, path, bolt.Options{})
	next := store.Commit{Head: store.Head{Version: 2}}
	tests := []struct {
		name string
		call func(key core.ThreadKey) error
		text string
	}{
		{"Head", func(key core.ThreadKey) error { _, err := s.Head(ctx, key); return err }, "read head of acme/t1: value of "},
		{"Get", func(key core.ThreadKey) error { _, _, err := s.Get(ctx, key, "R#1"); return err }, "read record R#1 of acme/t1: value of 9 bytes does not match its checksum"},
		{"Log", func(key core.ThreadKey) error { return firstError(s.Log(ctx, key, 1, 1)) }, "read records of acme/t1: record M#000000000001: value of 11 bytes does not match its checksum"},
		{"LogBackwards", func(key core.ThreadKey) error { return firstError(s.LogBackwards(ctx, key, 1, 1)) }, "read records of acme/t1: record M#000000000001: "},
		{"Records", func(key core.ThreadKey) error { _, err := s.Records(ctx, key, "R#", "", 10); return err }, "read records of acme/t1: record R#1: "},
		{"Pointer", func(key core.ThreadKey) error { _, _, err := s.Pointer(ctx, "acme", "run-"+key.Thread); return err }, `read pointer "run-t1" of acme: `},
		{"Put", func(key core.ThreadKey) error {
			return s.Put(ctx, key, store.Record{Name: "R#1", Fence: 2, Version: 1})
		}, "put into acme/t1: record R#1: "},
		{"Commit with a pointer", func(key core.ThreadKey) error {
			_, err := s.Commit(ctx, key, store.Commit{Pointers: []store.Pointer{{Name: "run-" + key.Thread}}, Head: store.Head{Version: 1}})
			return err
		}, `commit to acme/t1: pointer "run-t1": `},
		{"Commit", func(key core.ThreadKey) error { _, err := s.Commit(ctx, key, next); return err }, "commit to acme/t1: head: value of "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call(key)
			if !errors.Is(err, store.ErrCorrupt) || !strings.HasPrefix(err.Error(), tt.text) || !strings.HasSuffix(err.Error(), remedy(path)) {
				t.Errorf("the error is %v (code %s), want code corrupt, the beginning %q and the end %q", err, core.CodeOf(err), tt.text, remedy(path))
			}
			if err := tt.call(neighbour); err != nil {
				t.Errorf("the neighbour's error is %v, want none", err)
			}
		})
	}
}

// A sweep, a purge and a start are not stopped by what belongs to one thread.
func TestADamagedThreadStopsNoOther(t *testing.T) {
	path, ctx := newPath(t), t.Context()
	other := core.ThreadKey{Tenant: "acme", Thread: "t27"} // of shard 7 as well
	c := &clock{now: unix(100)}
	s := open(t, path, bolt.Options{Now: c.Now})
	record := store.Record{Name: "E#1", Payload: []byte("chunk"), Expires: 1000}
	for _, k := range []core.ThreadKey{key, other} {
		commit(t, s, k, store.Commit{Records: []store.Record{record}, Head: store.Head{Version: 1, DueAt: 5, Owner: "person"}})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		return errors.Join(
			replace(tx, "threads", "acme\x00t1\x00", "person", "pers0n"),
			replace(tx, "threads", "acme\x00t1\x00E#1", "chunk", "chump"),
		)
	})

	s = open(t, path, bolt.Options{Now: c.Now})
	due, err := s.Overdue(ctx, 7, 10, nil, 10)
	if want := (store.Overdue{Key: other, At: 5}); err != nil || len(due) != 1 || due[0] != want {
		t.Errorf("Overdue returns %v, %v, want %v alone", due, err, want)
	}
	if claimed, err := s.Claimed(ctx); err != nil || len(claimed) != 1 || claimed[0] != other {
		t.Errorf("Claimed returns %v, %v, want %v alone", claimed, err, other)
	}
	c.now = unix(1001)
	if purged, err := s.Purge(ctx, 10); purged != 1 || err != nil {
		t.Errorf("when the records expire Purge returns %d, %v, want 1", purged, err)
	}
}

func TestAHeadOfANewerProgramIsASchemaError(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	commit(t, s, key, store.Commit{Head: store.Head{Version: 1}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	newer := bolt.SealHead(key, []byte{2})
	edit(t, path, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("threads")).Put([]byte("acme\x00t1\x00"), newer) })
	if _, err := open(t, path, bolt.Options{}).Head(t.Context(), key); core.CodeOf(err) != core.CodeSchema || strings.Contains(err.Error(), "damaged") {
		t.Errorf("Head returns the error %v, want ErrSchema and no word of damage", err)
	}
}

// A file that is cut short made a start hang, or end in a fault.
func TestOpenRefusesAFileThatWasCutShort(t *testing.T) {
	whole := filled(t)
	for _, size := range []int{1, 100, 4096, 8191, 8192, 12288, 40_000} {
		path := newPath(t)
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bolt.Open(path, bolt.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "open store "+path+": ") {
			t.Errorf("of %d of %d bytes Open returns the error %v, want one that names the file", size, len(whole), err)
		}
		if size >= 100 && (!errors.Is(err, store.ErrCorrupt) || !strings.HasSuffix(err.Error(), remedy(path))) {
			t.Errorf("of %d of %d bytes Open returns the error %v, want ErrCorrupt with the remedy", size, len(whole), err)
		}
	}
}

// A copy that is longer than it must be is right: bbolt makes files longer in
// portions.
func TestOpenTakesAFileThatIsLongerThanItMustBe(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path, append(filled(t), make([]byte, 10_000)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, path, bolt.Options{}).Head(t.Context(), key); err != nil {
		t.Errorf("Head returns the error %v", err)
	}
}

// filled is a file with twenty threads.
func filled(t *testing.T) []byte {
	t.Helper()
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	for _, key := range filledKeys() {
		commit(t, s, key, filledCommit(key, 1))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// replace changes part of a stored value.
func replace(tx *bbolt.Tx, bucket, key, old, new string) error {
	value := string(tx.Bucket([]byte(bucket)).Get([]byte(key)))
	if !strings.Contains(value, old) {
		return errors.New(bucket + " " + key + " lacks " + old)
	}
	return tx.Bucket([]byte(bucket)).Put([]byte(key), []byte(strings.Replace(value, old, new, 1)))
}
