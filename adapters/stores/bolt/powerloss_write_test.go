package bolt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

func worldKey(n int) core.ThreadKey {
	return core.ThreadKey{Tenant: "acme", Thread: fmt.Sprintf("t%d", n)}
}

// write is one write of a history, which a store may be given again.
type write func(s *Store) error

// together makes a write of commits that share a transaction.
func (w *world) together(sizes ...int) write {
	keys, randoms := make([]core.ThreadKey, len(sizes)), make([]uint64, len(sizes))
	for i := range sizes {
		keys[i], randoms[i] = worldKey(w.random.IntN(5)), w.random.Uint64()
	}
	return func(s *Store) error {
		var requests []*request
		for i, size := range sizes {
			head, err := s.Head(context.Background(), keys[i])
			if err != nil {
				return err
			}
			c, err := s.prepareCommit(keys[i], w.content(head, randoms[i], size))
			if err != nil {
				return err
			}
			requests = append(requests, &request{change: func(w *writeTx) (bool, error) {
				_, wrote, err := c.apply(w)
				return wrote, err
			}})
		}
		_, err := s.leader.transact(requests)
		return err
	}
}

func (w *world) content(head store.Head, random uint64, size int) store.Commit {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(random >> (i % 56))
	}
	next := store.Head{Version: head.Version + 1, Seq: head.Seq + 1, DueAt: int64(random % 1000)}
	if random%8 == 0 {
		next = waitsFor(w.t, next, 1+int64(random%1000))
	}
	return store.Commit{
		Pointers: []store.Pointer{{Name: fmt.Sprintf("p%d", random%5000), Value: fmt.Append(nil, random), TTL: time.Duration(random%100) * time.Second}},
		Records: []store.Record{
			{Name: store.LogName(head.Seq + 1), Fence: 1, Payload: payload},
			{Name: fmt.Sprintf("Q#%d", random%1000), Fence: random, Payload: payload[:size/4], Expires: w.now.Unix() + int64(random%100)},
		},
		Head: next,
	}
}

// waitsFor is a head whose run waits for a person since a time.
func waitsFor(t *testing.T, h store.Head, since int64) store.Head {
	t.Helper()
	next := storetest.WaitingHead(t, h.Version, since)
	next.Seq, next.DueAt = h.Seq, h.DueAt
	return next
}

// next draws a write.
func (w *world) next() write {
	switch n := w.random.IntN(23); {
	case n < 12:
		return w.together(w.random.IntN(1500))
	case n < 14:
		return w.together(12_000 + w.random.IntN(4000)) // of several pages
	case n < 16:
		w.now = w.now.Add(time.Duration(w.random.IntN(60)) * time.Second)
		return func(s *Store) error { _, err := s.Purge(context.Background(), 10_000); return err }
	case n < 17:
		return func(s *Store) error { return s.Probe(context.Background()) }
	case n < 18:
		return w.together(100, 300, 200)
	case n < 19: // a change that fails in the middle, which the store undoes
		panics := w.random.IntN(2) == 0
		return func(s *Store) error {
			_, err := s.leader.transact([]*request{{change: func(w *writeTx) (bool, error) {
				err := w.put(threadsBucket, []byte("half"), []byte("half"))
				if panics {
					panic("half")
				}
				return true, errors.Join(err, errBroken)
			}}})
			return err
		}
	case n < 22:
		return w.beside(w.random.IntN(4), w.random.IntN(2000))
	default:
		key, at := worldKey(w.random.IntN(5)), w.random.IntN(20)
		return func(s *Store) error {
			return s.Put(context.Background(), key, store.Record{Name: fmt.Sprintf("R#%d", at), Fence: uint64(w.now.Unix()), Payload: make([]byte, 200)})
		}
	}
}
