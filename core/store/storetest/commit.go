package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var commitClauses = []clause{
	{"CommitStoresEverything", commitStoresEverything},
	{"CommitOfManyRecords", commitOfManyRecords},
	{"PointersThenRecordsThenHead", pointersThenRecordsThenHead},
	{"ARefusedRecordIsNamed", aRefusedRecordIsNamed},
	{"ARecordWithoutAKindStopsACommit", aRecordWithoutAKindStopsACommit},
	{"ARepeatedCommitMeetsItself", aRepeatedCommitMeetsItself},
	{"ARepeatedCommitChangesNothingLater", aRepeatedCommitChangesNothingLater},
	{"OrphansStayBehindTheHead", orphansStayBehindTheHead},
	{"AnAdoptedRecordTakesTheFence", anAdoptedRecordTakesTheFence},
	{"OneOfRacingCommitsWins", oneOfRacingCommitsWins},
	{"WhatAHeadCoversIsThere", whatAHeadCoversIsThere},
}

// transition is a Commit with two pointers and a record of every kind: the
// version'th of a thread, under a fence.
func transition(version, fence uint64, commit byte) store.Commit {
	value := fmt.Appendf(nil, "version %d fence %d", version, fence)
	record := func(name string) store.Record { return store.Record{Name: name, Payload: value} }
	log, run := record(store.LogName(version)), record("R#1")
	log.Fence = fence
	run.Fence, run.Version = fence, version
	h := head(version, commit)
	h.Seq, h.Fence = version, fence
	return store.Commit{
		Pointers: []store.Pointer{
			{Name: fmt.Sprint("run", version), Value: []byte("t"), TTL: time.Hour},
			{Name: fmt.Sprint("key", version), Value: []byte("t"), TTL: time.Hour},
		},
		Records: []store.Record{log, record(fmt.Sprintf("Q#%d#%d", version, fence)), run},
		Head:    h,
	}
}

// wantCommitted checks that everything of a Commit can be read.
func (p *probe) wantCommitted(key core.ThreadKey, c store.Commit) {
	p.t.Helper()
	for _, pointer := range c.Pointers {
		p.wantPointer(key.Tenant, pointer.Name, pointer.Value)
	}
	for _, record := range c.Records {
		p.wantRecord(key, record)
	}
	p.wantHead(key, c.Head)
}

func commitStoresEverything(p *probe) {
	key := p.key("t")
	for version := uint64(1); version <= 3; version++ {
		c := transition(version, 7, byte(version))
		p.commit(key, c)
		p.wantCommitted(key, c)
	}
	p.wantLog(key, 1, 10, 1, 2, 3)
}

// commitOfManyRecords is more than backends with batches take in one.
func commitOfManyRecords(p *probe) {
	key, c := p.key("t"), store.Commit{Head: head(1, 1)}
	for seq := range uint64(120) {
		c.Records = append(c.Records, logRecord(seq, 1))
	}
	p.commit(key, c)
	p.wantCommitted(key, c)
}

// pointersThenRecordsThenHead: where several parts are refused, the first in
// this order is what Commit returns.
func pointersThenRecordsThenHead(p *probe) {
	p.point(p.tenant, "taken", []byte("older"))
	taken, free := store.Pointer{Name: "taken", Value: []byte("ours")}, store.Pointer{Name: "taken", Value: []byte("older")}
	key := p.key("t")
	p.commit(key, store.Commit{Records: []store.Record{logRecord(1, 9)}, Head: head(1, 1)})
	fenced, good := logRecord(1, 2), logRecord(1, 9)

	got, err := p.b.Commit(p.ctx, key, store.Commit{Pointers: []store.Pointer{taken}, Records: []store.Record{fenced}, Head: head(7, 2)})
	if err != nil || len(got.Taken) != 1 || got.Written || got.Head.Exists() {
		p.t.Errorf("Commit with a taken pointer, a refused record and a wrong version returns %+v, %v, want Taken alone", got, err)
	}
	got, err = p.b.Commit(p.ctx, key, store.Commit{Pointers: []store.Pointer{free}, Records: []store.Record{fenced}, Head: head(7, 2)})
	if diff := cmp.Diff(store.Outcome{}, got); !errors.Is(err, store.ErrFenced) || diff != "" {
		p.t.Errorf("Commit with a refused record and a wrong version returns the error %v, want ErrFenced and the zero Outcome (-want +got):\n%s", err, diff)
	}
	got, err = p.b.Commit(p.ctx, key, store.Commit{Pointers: []store.Pointer{free}, Records: []store.Record{good}, Head: head(7, 2)})
	if diff := cmp.Diff(store.Outcome{Head: head(1, 1)}, got); err != nil || diff != "" {
		p.t.Errorf("Commit with a wrong version returns the error %v, want the stored head and no error (-want +got):\n%s", err, diff)
	}
	p.wantRecord(key, good)
	p.wantHead(key, head(1, 1))
}

func aRefusedRecordIsNamed(p *probe) {
	stored := transition(1, 7, 1)
	log, input, run := stored.Records[0], stored.Records[1], stored.Records[2]
	change := func(r store.Record, fence uint64) store.Record {
		r.Fence, r.Payload = fence, []byte("other")
		return r
	}
	tests := []struct {
		name  string
		other store.Record
		cause error
	}{
		{"log record under a lower fence", change(log, 6), store.ErrFenced},
		{"other log record under an equal fence", change(log, 7), store.ErrConflict},
		{"other create-only record", change(input, 0), store.ErrConflict},
		{"rewritable record under a lower fence", change(run, 6), store.ErrFenced},
		{"other rewritable record at an equal version", change(run, 7), store.ErrConflict},
	}
	for i, tt := range tests {
		for _, place := range []string{"first", "last"} {
			key := p.key(fmt.Sprint(place, i))
			p.commit(key, stored)
			next := []store.Record{tt.other, logRecord(2, 7), {Name: "Q#2#0", Payload: []byte("a")}}
			if place == "last" {
				next[0], next[2] = next[2], next[0]
			}
			got, err := p.b.Commit(p.ctx, key, store.Commit{Records: next, Head: head(2, 2)})
			var refused *store.RefusedError
			if !errors.As(err, &refused) || refused.Name != tt.other.Name || !errors.Is(refused.Cause, tt.cause) {
				p.t.Errorf("%s, %s of three: Commit returns the error %v, want a *store.RefusedError with the name %q and the cause %q", tt.name, place, err, tt.other.Name, tt.cause)
			}
			if diff := cmp.Diff(store.Outcome{}, got); diff != "" {
				p.t.Errorf("%s, %s of three: Commit with an error must return the zero Outcome (-want +got):\n%s", tt.name, place, diff)
			}
			p.wantCommitted(key, stored)
		}
	}
}

func aRecordWithoutAKindStopsACommit(p *probe) {
	key := p.key("t")
	got, err := p.b.Commit(p.ctx, key, store.Commit{Records: []store.Record{{Name: "X#1", Fence: 1, Payload: []byte("a")}}, Head: head(1, 1)})
	if core.CodeOf(err) != core.CodeInvalid || got.Written {
		p.t.Errorf("Commit with the record X#1, which has no kind, returns %+v, %v, want code %q", got, err, core.CodeInvalid)
	}
	p.wantHead(key, thread.Head{})
	p.wantNoRecord(key, "X#1")
}

// aRepeatedCommitMeetsItself is how a caller learns that a Commit whose response was lost
// has happened: equal bytes are not refused, and the stored head has its own commit id.
func aRepeatedCommitMeetsItself(p *probe) {
	key, c := p.key("t"), transition(1, 7, 1)
	p.commit(key, c)
	for range 2 {
		got, err := p.b.Commit(p.ctx, key, c)
		if err != nil {
			p.t.Fatalf("the same Commit again: %v; each pointer and record is stored with the same bytes, so none is refused", err)
		}
		if diff := cmp.Diff(store.Outcome{Head: c.Head}, got); diff != "" {
			p.t.Errorf("the same Commit again must return the stored head, its own (-want +got):\n%s", diff)
		}
		p.wantCommitted(key, c)
	}
}

// aRepeatedCommitChangesNothingLater repeats a Commit after later ones of the thread.
func aRepeatedCommitChangesNothingLater(p *probe) {
	key, first, second := p.key("t"), transition(1, 7, 1), transition(2, 7, 2)
	p.commit(key, first)
	p.commit(key, second)
	got, err := p.b.Commit(p.ctx, key, first)
	var refused *store.RefusedError
	if !errors.As(err, &refused) || refused.Name != "R#1" || !errors.Is(err, store.ErrFenced) {
		p.t.Errorf("a Commit again whose R#1 was rewritten since returns %+v, %v, want a *store.RefusedError with the name R#1 and the cause ErrFenced", got, err)
	}
	p.wantCommitted(key, second)

	first.Records = first.Records[:2] // those that were not rewritten
	got, err = p.b.Commit(p.ctx, key, first)
	if diff := cmp.Diff(store.Outcome{Head: second.Head}, got); err != nil || diff != "" {
		p.t.Errorf("a Commit again after the next one returns the error %v, want the stored head (-want +got):\n%s", err, diff)
	}
	p.wantRecord(key, first.Records[0])
	p.wantCommitted(key, second)
}

// orphansStayBehindTheHead leaves records whose head was never written, as a
// worker does that dies before its Commit ends or whose head is refused.
func orphansStayBehindTheHead(p *probe) {
	key := p.key("t")
	p.commit(key, transition(1, 7, 1))
	p.put(key, logRecord(2, 7))
	p.put(key, store.Record{Name: "Q#9#0", Payload: []byte("orphan")})
	late := transition(3, 7, 3)
	if got, err := p.b.Commit(p.ctx, key, late); err != nil || got.Written {
		p.t.Fatalf("Commit(version 3 over 1) returns Written=%v, %v, want false and no error", got.Written, err)
	}
	p.wantHead(key, transition(1, 7, 1).Head)
	p.wantLog(key, 1, p.head(key).Seq, 1)

	next := transition(2, 8, 2) // a later claim, which writes other bytes
	p.commit(key, next)
	p.wantCommitted(key, next)
	if err := p.b.Put(p.ctx, key, logRecord(2, 7)); !errors.Is(err, store.ErrFenced) {
		p.t.Errorf("Put under fence 7 over a committed record of fence 8 returns the error %v, want ErrFenced", err)
	}
	p.wantCommitted(key, next)
}

// anAdoptedRecordTakesTheFence: a later claim commits an orphan's bytes under
// its own fence, so that the older worker cannot overwrite them afterwards.
func anAdoptedRecordTakesTheFence(p *probe) {
	key := p.key("t")
	orphan := store.Record{Name: store.LogName(1), Fence: 3, Payload: []byte("result")}
	p.put(key, orphan)
	adopted := orphan
	adopted.Fence = 4
	p.commit(key, store.Commit{Records: []store.Record{adopted}, Head: head(1, 1)})
	p.wantRecord(key, adopted)

	zombie := store.Record{Name: store.LogName(1), Fence: 3, Payload: []byte("other")}
	got, err := p.b.Commit(p.ctx, key, store.Commit{Records: []store.Record{zombie}, Head: head(2, 2)})
	if !errors.Is(err, store.ErrFenced) || got.Written {
		p.t.Errorf("Commit under fence 3 over a record that fence 4 adopted returns %+v, %v, want ErrFenced", got, err)
	}
	p.wantRecord(key, adopted)
	p.wantHead(key, head(1, 1))
}

// oneOfRacingCommitsWins: of 16 transitions of one version one is written, and
// everything of it is there.
func oneOfRacingCommitsWins(p *probe) {
	key := p.key("t")
	for version := uint64(1); version <= 4; version++ {
		racer := func(i int) store.Commit {
			name := fmt.Sprintf("%d.%d", version, i)
			return store.Commit{
				Pointers: []store.Pointer{{Name: name, Value: []byte("t"), TTL: time.Hour}},
				Records:  []store.Record{{Name: "Q#" + name + "#0", Payload: []byte(name)}},
				Head:     head(version, byte(i)),
			}
		}
		var won, winner atomic.Int64
		p.race(16, func(ctx context.Context, i int) error {
			got, err := p.b.Commit(ctx, key, racer(i))
			if got.Written {
				won.Add(1)
				winner.Store(int64(i))
			} else if err == nil && got.Head.Version != version {
				return fmt.Errorf("a Commit that lost a race for version %d returns a head of version %d", version, got.Head.Version)
			}
			return err
		})
		if won.Load() != 1 {
			p.t.Fatalf("version %d: %d of 16 racing Commits returned Written=true, want exactly 1", version, won.Load())
		}
		p.wantCommitted(key, racer(int(winner.Load())))
	}
}

// whatAHeadCoversIsThere reads concurrently with a writer: every reader of a head finds
// each of its records and pointers.
func whatAHeadCoversIsThere(p *probe) {
	const versions = 30
	key := p.key("t")
	p.race(4, func(ctx context.Context, i int) error {
		if i == 0 {
			for version := uint64(1); version <= versions; version++ {
				if got, err := p.b.Commit(ctx, key, transition(version, 7, 1)); err != nil || !got.Written {
					return fmt.Errorf("with concurrent readers, Commit(version %d) returns Written=%v, %v", version, got.Written, err)
				}
			}
			return nil
		}
		for {
			head, err := p.b.Head(ctx, key)
			if err != nil {
				return fmt.Errorf("with a concurrent writer, Head: %w", err)
			}
			if err := p.covered(ctx, key, head); err != nil || head.Version == versions {
				return err
			}
		}
	})
}

// covered looks for what transition stores with a head.
func (p *probe) covered(ctx context.Context, key core.ThreadKey, head thread.Head) error {
	if head.Version == 0 {
		return nil
	}
	seen := uint64(0)
	for _, err := range p.b.Log(ctx, key, 1, head.Seq) {
		if err != nil {
			return fmt.Errorf("with a concurrent writer, Log: %w", err)
		}
		seen++
	}
	missing := ""
	if seen != head.Seq {
		missing = fmt.Sprintf("%d of its log records", head.Seq-seen)
	}
	for _, pointer := range transition(head.Version, 7, 1).Pointers {
		_, ok, err := p.b.Pointer(ctx, key.Tenant, pointer.Name)
		if err != nil {
			return fmt.Errorf("with a concurrent writer, Pointer: %w", err)
		}
		if !ok {
			missing = "its pointer " + pointer.Name
		}
	}
	run, _, err := p.b.Get(ctx, key, "R#1")
	if err != nil {
		return fmt.Errorf("with a concurrent writer, Get: %w", err)
	}
	if run.Version < head.Version {
		missing = fmt.Sprintf("its R#1, which is of version %d", run.Version)
	}
	if missing != "" {
		return fmt.Errorf("a head of version %d is visible without %s: a head must be written after what it covers", head.Version, missing)
	}
	return nil
}
