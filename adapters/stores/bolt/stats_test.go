package bolt_test

import (
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/store"
)

// counted are the transactions and syncs of a store.
func counted(s *bolt.Store) [2]int64 {
	transactions, syncs := s.Stats()
	return [2]int64{transactions, syncs}
}

func TestACommitIsOneTransactionWithTwoSyncs(t *testing.T) {
	s := open(t, newPath(t), bolt.Options{})
	if got, want := counted(s), [2]int64{}; got != want {
		t.Errorf("Stats of a file that was just made are %d, want %d", got, want)
	}
	first := filledCommit(key, 1) // two records, a pointer that expires, a head that is due
	first.Records[0].Payload, first.Records[1].Payload = []byte("a"), []byte("b")
	commit(t, s, key, first)
	if got, want := counted(s), [2]int64{1, 2}; got != want {
		t.Errorf("Stats after a Commit are %d, want %d", got, want)
	}
	commit(t, s, key, store.Commit{Records: []store.Record{{Name: store.LogName(2), Fence: 1}}, Head: store.Head{Version: 2}})
	if got, want := counted(s), [2]int64{2, 4}; got != want {
		t.Errorf("Stats after two Commits are %d, want %d", got, want)
	}
	if out, err := s.Commit(t.Context(), key, first); out.Written || out.Head.Version != 2 || err != nil {
		t.Errorf("the first Commit again returns %+v, %v, want the stored head", out, err)
	}
	if out, err := s.Commit(t.Context(), key, store.Commit{Head: store.Head{Version: 9}}); out.Written || err != nil {
		t.Errorf("Commit(version 9 over 2) returns %+v, %v", out, err)
	}
	if got, want := counted(s), [2]int64{2, 4}; got != want {
		t.Errorf("Stats after two refused Commits are %d, want %d", got, want)
	}
	large := store.Record{Name: store.LogName(3), Fence: 1, Payload: make([]byte, 2<<20)}
	commit(t, s, key, store.Commit{Records: []store.Record{large}, Head: store.Head{Version: 3}})
	if got, want := counted(s), [2]int64{3, 7}; got != want { // one for the file's new length
		t.Errorf("Stats after a Commit that made the file longer are %d, want %d", got, want)
	}
}

// The newest record of a long log costs no more than a few of them: what is
// damaged far behind it is not met.
func TestLogBackwardsReadsLittleMoreThanItsCallerTakes(t *testing.T) {
	path := newPath(t)
	s := open(t, path, bolt.Options{})
	c := store.Commit{Head: store.Head{Version: 1}}
	for seq := range uint64(100) {
		c.Records = append(c.Records, store.Record{Name: store.LogName(seq), Fence: 1, Payload: []byte("payload")})
	}
	commit(t, s, key, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(tx *bbolt.Tx) error {
		return replace(tx, "threads", "acme\x00t1\x00"+store.LogName(91), "payload", "damaged")
	})
	s = open(t, path, bolt.Options{})
	seen := 0
	for _, err := range s.LogBackwards(t.Context(), key, 0, 99) {
		if err != nil {
			t.Fatalf("after %d records: %v", seen, err)
		}
		if seen++; seen == 8 {
			break
		}
	}
	if err := firstError(s.LogBackwards(t.Context(), key, 0, 99)); err == nil {
		t.Error("LogBackwards to the end returns no error, want that of the damaged record")
	}
}
