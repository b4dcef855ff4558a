package storetest_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// TestEveryMistakeIsNotLinearizable: a store that is wrong one time in twenty is
// found in its first histories.
func TestEveryMistakeIsNotLinearizable(t *testing.T) {
	const most = 20
	tests := []struct {
		name    string
		mistake func(*careless)
	}{
		{"a lost update: a head is written whatever version stands", func(c *careless) { c.losesUpdates = true }},
		{"a head of before", func(c *careless) { c.readsOldHeads = true }},
		{"a record of before", func(c *careless) { c.readsOldRecords = true }},
		{"a record that is not there yet", func(c *careless) { c.missesRecords = true }},
		{"a refused head that comes back as it was before", func(c *careless) { c.refusesWithOldHeads = true }},
		{"a head before its records", func(c *careless) { c.headFirst = true }},
		{"an acknowledged write that is not stored", func(c *careless) { c.forgets = true }},
		{"a record that is put whatever stands", func(c *careless) { c.overwrites = true }},
		{"a taken pointer that stops nothing", func(c *careless) { c.takesPointers = true }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCareless()
			tt.mistake(c)
			made, _, err := storetest.Histories(t.Context(), c, 1, most, storetest.CheckTime)
			if err == nil {
				t.Fatalf("%d histories of it are accepted", made)
			}
			if !strings.HasPrefix(err.Error(), "no order of the operations on t") {
				t.Fatalf("history %d is refused for another reason: %v", made, err)
			}
			t.Logf("history %d is not linearizable", made)
		})
	}
}

// What finds the mistakes finds none where there are none.
func TestWithoutAMistakeEveryHistoryIsLinearizable(t *testing.T) {
	if made, _, err := storetest.Histories(t.Context(), newCareless(), 1, 100, storetest.CheckTime); err != nil {
		t.Errorf("history %d: %v", made, err)
	}
}

// One history may be undecided, as long as there are few: more of them are no check.
func TestHistoriesThatTakeTooLongAreUndecided(t *testing.T) {
	const atOnce = time.Nanosecond
	if made, undecided, err := storetest.Histories(t.Context(), memory.New(), 1, 1, atOnce); made != 1 || undecided != 1 || err != nil {
		t.Errorf("of one history %d are made and %d undecided: %v", made, undecided, err)
	}
	_, undecided, err := storetest.Histories(t.Context(), memory.New(), 1, 10, atOnce)
	if undecided < 2 || err == nil || !strings.HasPrefix(err.Error(), "undecided: no order that explains the operations on t") {
		t.Errorf("%d undecided histories are accepted: %v", undecided, err)
	}
}

type recordKey struct {
	core.ThreadKey
	name string
}

// careless keeps everything itself, right but for its mistakes, each of which it
// makes one time in twenty.
type careless struct {
	store.Backend
	losesUpdates, readsOldHeads, readsOldRecords, missesRecords, refusesWithOldHeads bool
	headFirst, forgets, overwrites, takesPointers                                    bool

	chances  atomic.Int64
	mu       sync.Mutex
	heads    map[core.ThreadKey][]thread.Head // all that there were
	records  map[recordKey][]store.Record
	pointers map[string][]byte
}

func newCareless() *careless {
	return &careless{
		Backend: memory.New(), heads: map[core.ThreadKey][]thread.Head{},
		records: map[recordKey][]store.Record{}, pointers: map[string][]byte{},
	}
}

// now reports whether a mistake is to be made.
func (c *careless) now(mistake bool) bool { return mistake && c.chances.Add(1)%20 == 0 }

func (c *careless) head(key core.ThreadKey, back int) (h thread.Head) {
	if all := c.heads[key]; len(all) > back {
		h = all[len(all)-1-back]
	}
	return h
}

func (c *careless) Head(_ context.Context, key core.ThreadKey) (thread.Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now(c.readsOldHeads) {
		return c.head(key, 1), nil
	}
	return c.head(key, 0), nil
}

func (c *careless) Commit(_ context.Context, key core.ThreadKey, made store.Commit) (store.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out store.Outcome
	for _, p := range made.Pointers {
		at := key.Tenant + "/" + p.Name
		if stored, ok := c.pointers[at]; !ok {
			c.pointers[at] = p.Value
		} else if string(stored) != string(p.Value) && !c.now(c.takesPointers) {
			out.Taken = append(out.Taken, store.Pointer{Name: p.Name, Value: stored})
		}
	}
	if out.Taken != nil {
		return out, nil
	}
	if c.now(c.headFirst) {
		defer func() {
			for _, r := range made.Records {
				_ = c.put(key, r)
			}
		}()
		defer func() { // runs first: others see the head alone
			c.mu.Unlock()
			for range 20 {
				runtime.Gosched()
			}
			c.mu.Lock()
		}()
	} else {
		for _, r := range made.Records {
			if err := c.put(key, r); err != nil {
				return store.Outcome{}, err
			}
		}
	}
	stored := c.head(key, 0)
	if stored.Version != made.Head.Version-1 && !c.now(c.losesUpdates) {
		if c.now(c.refusesWithOldHeads) {
			stored = c.head(key, 1)
		}
		return store.Outcome{Head: stored}, nil
	}
	if !c.now(c.forgets) {
		c.heads[key] = append(c.heads[key], made.Head)
	}
	return store.Outcome{Written: true}, nil
}

func (c *careless) put(key core.ThreadKey, r store.Record) error {
	at := recordKey{key, r.Name}
	var stored *store.Record
	if all := c.records[at]; len(all) > 0 {
		stored = &all[len(all)-1]
	}
	write, err := r.Admit(stored)
	if err != nil && c.now(c.overwrites) {
		write, err = true, nil
	}
	if write {
		c.records[at] = append(c.records[at], r)
	}
	return err
}

func (c *careless) Put(_ context.Context, key core.ThreadKey, r store.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.put(key, r)
}

func (c *careless) Get(_ context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.records[recordKey{key, name}]
	switch {
	case len(all) == 0, c.now(c.missesRecords):
		return store.Record{}, false, nil
	case len(all) > 1 && c.now(c.readsOldRecords):
		return all[len(all)-2], true, nil
	}
	return all[len(all)-1], true, nil
}

func (c *careless) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for seq := from; seq <= to; seq++ {
			if r, ok, err := c.Get(ctx, key, store.LogName(seq)); ok && !yield(r, err) {
				return
			}
		}
	}
}

func (c *careless) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var all []store.Record
		for r := range c.Log(ctx, key, from, to) {
			all = append(all, r)
		}
		for _, r := range slices.Backward(all) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (c *careless) Pointer(_ context.Context, tenant, name string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.pointers[tenant+"/"+name]
	return value, ok, nil
}

// TestHistoriesMeetEveryAnswer: what clients ask must come to more than what nobody
// contests.
func TestHistoriesMeetEveryAnswer(t *testing.T) {
	const made, least = 20, 20
	var mu sync.Mutex
	met := map[string]int{}
	count := func(err error, out store.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, store.ErrFenced):
			met["fenced"]++
		case errors.Is(err, store.ErrConflict):
			met["conflict"]++
		case out.Taken != nil:
			met["taken"]++
		case out.Head.Exists():
			met["refused head"]++
		case out.Written:
			met["written head"]++
		case err == nil:
			met["put"]++
		}
	}
	b := memory.New()
	f := &storetest.Faulty{
		Backend: b,
		OnCommit: func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			out, err := b.Commit(ctx, key, c)
			count(err, out)
			return out, err
		},
		OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			err := b.Put(ctx, key, r)
			count(err, store.Outcome{})
			return err
		},
	}
	if n, _, err := storetest.Histories(t.Context(), f, 1, made, storetest.CheckTime); err != nil {
		t.Fatalf("history %d: %v", n, err)
	}
	t.Log(met)
	for _, answer := range []string{"fenced", "conflict", "taken", "refused head", "written head", "put"} {
		if met[answer] < least {
			t.Errorf("%d histories met %q %d times, want at least %d", made, answer, met[answer], least)
		}
	}
}
