package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var dueClauses = []clause{
	{"DueThreadIsListedFromItsTimeOn", dueThreadIsListedFromItsTimeOn},
	{"DueThreadIsListedInItsShardOnly", dueThreadIsListedInItsShardOnly},
	{"DueTimeMovesWithTheHead", dueTimeMovesWithTheHead},
	{"RefusedHeadIsNotDue", refusedHeadIsNotDue},
	{"MostOverdueFirst", mostOverdueFirst},
	{"EveryDueThreadIsInSomeShard", everyDueThreadIsInSomeShard},
	{"OverdueThreadsArePaged", overdueThreadsArePaged},
	{"DuePolicyIsTheSameForAll", duePolicyIsTheSameForAll},
}

// hour is far over what a backend may round; the times of this file are the
// first days of 1970, so that nothing real is due then.
const hour = int64(3_600_000)

func dueThreadIsListedFromItsTimeOn(p *probe) {
	key := p.key("t")
	p.setDue(key, dueHead(1, 5*hour))
	p.wantDue(key, 5*hour+p.rounding(), true)
	p.wantDue(key, 5*hour-p.rounding()-1, false)
	p.wantDue(key, 0, false)
	p.wantDue(key, 100*hour, true)
}

func dueThreadIsListedInItsShardOnly(p *probe) {
	for i := range 8 {
		key := p.key(fmt.Sprint("t", i))
		p.setDue(key, dueHead(1, hour))
		p.wantDue(key, 2*hour, true)
		for shard := range store.Shards {
			if shard != (store.Overdue{Key: key}).Shard() && lists(p.overdue(shard, 2*hour, 1000), key) {
				p.t.Errorf("Overdue lists %s in shard %d, want it in shard %d = its shard only", key, shard, store.Overdue{Key: key}.Shard())
			}
		}
	}
}

func dueTimeMovesWithTheHead(p *probe) {
	key := p.key("t")
	p.setDue(key, dueHead(1, 5*hour))
	p.wantDue(key, 6*hour, true)
	p.set(key, dueHead(2, 10*hour))
	p.wantDue(key, 6*hour, false)
	p.wantDue(key, 11*hour, true)
	p.set(key, dueHead(3, 2*hour))
	p.wantDue(key, 3*hour, true)
	p.set(key, dueHead(4, 0))
	p.wantDue(key, 1000*hour, false)
	p.set(key, dueHead(5, 4*hour))
	p.wantDue(key, 5*hour, true)
}

func refusedHeadIsNotDue(p *probe) {
	key := p.key("t")
	p.setDue(key, dueHead(1, 10*hour))
	if got, err := p.b.Commit(p.ctx, key, store.Commit{Head: dueHead(7, 2*hour)}); got.Written || err != nil {
		p.t.Fatalf("Commit(version 7 over 1) returns Written=%v, %v, want false and no error", got.Written, err)
	}
	p.wantDue(key, 11*hour, true)
	p.wantDue(key, 3*hour, false)
}

func mostOverdueFirst(p *probe) {
	keys := p.sameShard(5)
	for i, at := range []int64{30, 10, 50, 20, 40} {
		p.setDue(keys[i], dueHead(1, at*hour))
	}
	want := []core.ThreadKey{keys[1], keys[3], keys[0], keys[4], keys[2]}
	tests := []struct {
		until, limit int
		want         []core.ThreadKey
	}{
		{60, 10, want},
		{60, 5, want},
		{60, 3, want[:3]},
		{60, 1, want[:1]},
		{35, 10, want[:3]},
		{35, 2, want[:2]},
		{5, 10, nil},
		{60, 0, nil},
		{60, -1, nil},
	}
	shard := store.Overdue{Key: keys[0]}.Shard()
	for _, tt := range tests {
		p.eventually(func() error {
			got, err := p.b.Overdue(p.ctx, shard, int64(tt.until)*hour, nil, tt.limit)
			if err != nil {
				return fmt.Errorf("Overdue(shard %d): %w", shard, err)
			}
			if diff := cmp.Diff(keyTexts(tt.want), texts(got)); diff != "" {
				return fmt.Errorf("Overdue(until %d h, limit %d) must return the most overdue first and no more than the limit (-want +got):\n%s", tt.until, tt.limit, diff)
			}
			return nil
		})
	}
}

func everyDueThreadIsInSomeShard(p *probe) {
	want := []string{}
	for i := range 40 {
		key := p.key(fmt.Sprintf("t%02d", i))
		p.setDue(key, dueHead(1, hour+int64(i)))
		want = append(want, key.String())
	}
	p.eventually(func() error {
		var got []store.Overdue
		for shard := range store.Shards {
			due, err := p.b.Overdue(p.ctx, shard, 2*hour, nil, 100)
			if err != nil {
				return fmt.Errorf("Overdue(shard %d): %w", shard, err)
			}
			got = append(got, due...)
		}
		listed := texts(got)
		slices.Sort(listed)
		if diff := cmp.Diff(want, listed); diff != "" {
			return fmt.Errorf("the shards 0..%d together must list each of 40 due threads once (-want +got):\n%s", store.Shards-1, diff)
		}
		return nil
	})
}

// overdueThreadsArePaged lists 130 threads, ten of a time, in pages that end within a time
// and between two. It continues after a thread that is no longer due, as a sweep does that
// wakes the threads it lists.
func overdueThreadsArePaged(p *probe) {
	const threads, sameTime = 130, 10
	keys := p.sameShard(threads)
	at := map[core.ThreadKey]int64{}
	for i, key := range keys {
		at[key] = int64(1+(i*7%threads)/sameTime) * hour
		p.setDue(key, dueHead(1, at[key]))
	}
	shard := store.Overdue{Key: keys[0]}.Shard()
	for _, limit := range []int{100, 20, 7} {
		p.eventually(func() error {
			pages, err := p.pages(shard, limit)
			if err != nil {
				return err
			}
			return p.checkPages(pages, limit, at)
		})
	}

	first := p.overdue(shard, 100*hour, 15)
	last := first[len(first)-1]
	p.set(last.Key, head(2, 1)) // due no more
	p.eventually(func() error {
		rest, err := p.b.Overdue(p.ctx, shard, 100*hour, &last, 1000)
		if err != nil {
			return fmt.Errorf("Overdue after a thread that is no longer due: %w", err)
		}
		if len(rest) != threads-15 {
			return fmt.Errorf("Overdue after the 15th of %d threads, which is no longer due, lists %d, want %d", threads, len(rest), threads-15)
		}
		return nil
	})
}

// pages lists a shard to its end.
func (p *probe) pages(shard, limit int) (pages [][]store.Overdue, err error) {
	var after *store.Overdue
	for len(pages) < 1000 {
		page, err := p.b.Overdue(p.ctx, shard, 100*hour, after, limit)
		if err != nil {
			return nil, fmt.Errorf("Overdue(shard %d, limit %d): %w", shard, limit, err)
		}
		pages = append(pages, page)
		if len(page) < limit {
			break
		}
		after = &page[len(page)-1]
	}
	return pages, nil
}

// checkPages wants each thread once, in order of time, and no page over limit.
func (p *probe) checkPages(pages [][]store.Overdue, limit int, at map[core.ThreadKey]int64) error {
	seen, before := map[core.ThreadKey]bool{}, int64(0)
	for _, page := range pages {
		if len(page) > limit {
			return fmt.Errorf("a page of Overdue with limit %d has %d threads", limit, len(page))
		}
		for _, o := range page {
			want, ours := at[o.Key]
			switch {
			case !ours || seen[o.Key]:
				return fmt.Errorf("pages of %d, each after the last thread of the previous page, list %s again", limit, o.Key)
			case o.At < before:
				return fmt.Errorf("pages of %d list %s at %d after a thread at %d, want the most overdue first", limit, o.Key, o.At, before)
			case max(o.At-want, want-o.At) > p.rounding():
				return fmt.Errorf("%s is listed at %d, its head has DueAt %d", o.Key, o.At, want)
			}
			seen[o.Key], before = true, o.At
		}
	}
	if len(seen) != len(at) {
		return fmt.Errorf("pages of %d, each after the last thread of the previous page, list %d threads, want %d", limit, len(seen), len(at))
	}
	return nil
}

// setDue writes the first head of a thread and makes sure that the thread is
// not due any more when the clause is over.
func (p *probe) setDue(key core.ThreadKey, first thread.Head) {
	p.t.Helper()
	p.set(key, first)
	p.t.Cleanup(func() {
		p.ctx = context.WithoutCancel(p.ctx) // the test's own is over by now
		last := p.head(key)
		if last.DueAt != 0 {
			p.set(key, head(last.Version+1, 0xee))
		}
	})
}

func (p *probe) rounding() int64 { return p.options.DueRounding.Milliseconds() }

func (p *probe) overdue(shard int, until int64, limit int) []store.Overdue {
	p.t.Helper()
	due, err := p.b.Overdue(p.ctx, shard, until, nil, limit)
	if err != nil {
		p.t.Fatalf("Overdue(shard %d, until %d, limit %d): %v", shard, until, limit, err)
	}
	return due
}

// wantDue checks whether the thread's shard lists it at a time.
func (p *probe) wantDue(key core.ThreadKey, until int64, want bool) {
	p.t.Helper()
	shard := store.Overdue{Key: key}.Shard()
	p.eventually(func() error {
		due, err := p.b.Overdue(p.ctx, shard, until, nil, 1000)
		if err != nil {
			return fmt.Errorf("Overdue(shard %d, until %d): %w", shard, until, err)
		}
		if got := lists(due, key); got != want {
			return fmt.Errorf("Overdue(shard %d, until %d) lists %s: %v, want %v; the thread's head has DueAt %d and rounding of %s is allowed",
				shard, until, key, got, want, p.head(key).DueAt, p.options.DueRounding)
		}
		return p.notQuiet(p.head(key).DueAt)
	})
}

// notQuiet checks that a backend that is a store.QuietDue reports the due time of a head.
func (p *probe) notQuiet(due int64) error {
	q, ok := p.b.(store.QuietDue)
	if !ok || due == 0 {
		return nil
	}
	quiet, err := q.NothingDue(p.ctx)
	if err != nil || quiet {
		return fmt.Errorf("NothingDue returns %v, %v; want false, since a head has DueAt %d", quiet, err, due)
	}
	return nil
}

// duePolicyIsTheSameForAll, since the program that writes a head need not be the
// one that looks for it.
func duePolicyIsTheSameForAll(p *probe) {
	first, second := p.b.DuePolicy(), p.b.DuePolicy()
	if first != second || first.Grace < 0 || first.Round < 0 {
		p.t.Errorf("DuePolicy() returns %+v, then %+v; it must be the same in every call, without a value below 0", first, second)
	}
}

// sameShard returns n keys of shard 0.
func (p *probe) sameShard(n int) []core.ThreadKey {
	var keys []core.ThreadKey
	for i := 0; len(keys) < n; i++ {
		if key := p.key(fmt.Sprint("t", i)); (store.Overdue{Key: key}).Shard() == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

func lists(due []store.Overdue, key core.ThreadKey) bool {
	return slices.ContainsFunc(due, func(o store.Overdue) bool { return o.Key == key })
}

func texts(due []store.Overdue) []string {
	list := []string{}
	for _, o := range due {
		list = append(list, o.Key.String())
	}
	return list
}

func keyTexts(keys []core.ThreadKey) []string {
	list := []string{}
	for _, key := range keys {
		list = append(list, key.String())
	}
	return list
}
