package bolt_test

import (
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/store"
)

// A quarantine survives a restart, and ends when the head is replaced.
func TestAQuarantineSurvivesARestart(t *testing.T) {
	path, ctx := newPath(t), t.Context()
	s := open(t, path, bolt.Options{})
	head := store.Head{Layout: 1, Version: 1, Owner: "person", DueAt: 5}
	commit(t, s, key, store.Commit{Head: head})
	change := func(from, to string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, path, func(tx *bbolt.Tx) error { return replace(tx, "threads", "acme\x00t1\x00", from, to) })
		s = open(t, path, bolt.Options{})
	}
	due := func() int {
		t.Helper()
		list, err := s.Overdue(ctx, store.Overdue{Key: key}.Shard(), 10, nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	stored := func() store.StoredHead {
		t.Helper()
		stored, err := s.StoredHead(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	change("person", "pers0n")
	if done, err := s.QuarantineHead(ctx, key, stored(), 7); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, bolt.Options{})
	if got := stored(); got.Quarantined != 7 || got.Damage == nil || due() != 0 {
		t.Errorf("after a restart the head is %+v, and %d threads are due", got, due())
	}
	if done, err := s.ReplaceHead(ctx, key, stored(), head); !done || err != nil {
		t.Fatal(done, err)
	}
	if got, err := s.Head(ctx, key); err != nil || got.Owner != "person" || due() != 1 {
		t.Errorf("the head is %+v, %v, and %d threads are due", got, err, due())
	}
	if done, err := s.ReleaseHead(ctx, key, stored()); !done || err != nil || stored().Quarantined != 0 || due() != 1 {
		t.Errorf("released: %v, %v, %+v", done, err, stored())
	}
}
