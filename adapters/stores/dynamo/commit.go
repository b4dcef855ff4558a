package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// atOnce is how many puts of one Commit are on their way at the same time.
const atOnce = 16

// Commit implements [store.Backend]: the pointers side by side, then the
// records side by side, then the head, so that it takes at most three round
// trips. There is no transaction: it would cost twice the units, and the
// records of a refused head are invisible.
//
// If a pointer is refused, other pointers of the same call may be stored; the same holds
// for records.
func (s *Store) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	pk, err := partition(key)
	if err != nil {
		return store.Outcome{}, err
	}
	if c.Head.Version == 0 {
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "head of %s to write has version 0, the first is 1", key)
	}
	// Everything is encoded before anything is sent: if a part is over a limit, nothing
	// is stored.
	pointers := make([]pointerPut, len(c.Pointers))
	for i, p := range c.Pointers {
		if pointers[i], err = s.preparePointer(key.Tenant, p); err != nil {
			return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
		}
	}
	records := make([]recordPut, len(c.Records))
	for i, r := range c.Records {
		if records[i], err = s.prepareRecord(key, pk, r, func() (uint64, error) { return c.Head.Incarnation, nil }); err != nil {
			return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
		}
	}
	usage, err := s.prepareUsage(key, c.Usage)
	if err != nil {
		return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
	}
	if taken, err := s.putPointers(ctx, pointers); err != nil || len(taken) > 0 {
		return store.Outcome{Taken: taken}, err
	}
	if err := s.putRecords(ctx, records, usage); err != nil {
		return store.Outcome{}, err
	}
	if usage != nil {
		if err := s.mark(ctx, key.Tenant, usage.usage.Hour); err != nil {
			return store.Outcome{}, err
		}
	}
	return s.putHead(ctx, key, pk, &c.Head)
}

// putPointers returns those that hold another value. An error hides them: the
// list would not be whole.
func (s *Store) putPointers(ctx context.Context, pointers []pointerPut) ([]store.Pointer, error) {
	found := make([]*store.Pointer, len(pointers))
	errs := make([]error, len(pointers))
	sideBySide(len(pointers), func(i int) { found[i], errs[i] = s.putPointer(ctx, pointers[i]) })
	var taken []store.Pointer
	for i, err := range errs {
		if err != nil {
			return nil, err
		}
		if found[i] != nil {
			taken = append(taken, *found[i])
		}
	}
	return taken, nil
}

// putRecords returns a refusal before any other error, since it is final, and the others
// are worth another attempt.
func (s *Store) putRecords(ctx context.Context, records []recordPut, usage *usagePut) error {
	n := len(records)
	if usage != nil {
		n++
	}
	errs := make([]error, n)
	sideBySide(n, func(i int) {
		if i == len(records) {
			errs[i] = s.putUsage(ctx, usage)
			return
		}
		errs[i] = s.putRecord(ctx, records[i])
	})
	var first error
	for _, err := range errs {
		var refused *store.RefusedError
		if errors.As(err, &refused) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// sideBySide calls f with 0..n-1, [atOnce] of them at the same time, and returns
// when all have returned. One call needs no goroutine.
func sideBySide(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			f(i)
		})
	}
	all.Wait()
}
