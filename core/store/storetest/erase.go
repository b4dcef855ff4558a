package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var eraseClauses = []clause{
	{"EraseRemovesEveryRecord", eraseRemovesEveryRecord},
	{"EraseKeepsHeadPointersAndOtherThreads", eraseKeepsHeadPointersAndOtherThreads},
	{"EraseIsChecked", eraseIsChecked},
}

// everyKind are records of each kind, expired ones among them.
func everyKind() []store.Record {
	return []store.Record{
		logRecord(1, 1), logRecord(2, 1), logRecord(1_000, 7),
		{Name: "Q#1#0", Payload: []byte("input"), Expires: 4_102_444_800},
		{Name: "Q#2#0", Payload: []byte("gone"), Expires: 1},
		{Name: "D#1#2#0#x", Payload: []byte("decision")},
		{Name: "E#1#1#1#1", Payload: []byte("chunk"), Expires: 1},
		{Name: "Z#2", Payload: []byte("summary")},
		{Name: "P#2", Payload: []byte("prompt")},
		{Name: "O#2", Payload: []byte("outbox")},
		{Name: "R#1", Fence: 1, Version: 3, Payload: []byte("run")},
		{Name: "S#", Fence: 1, Version: 3, Payload: []byte("manifest")},
		{Name: "S#/thread/a", Fence: 1, Version: 3, Payload: []byte("value")},
		{Name: "C#1#2#0#x", Fence: 1, Version: 3, Payload: noise(largePayload)},
		{Name: "C#1#2#0#once#part", Payload: []byte("part")},
		{Name: "A#1#read", Fence: 1, Version: 3, Payload: []byte("audit")},
	}
}

// eraseRemovesEveryRecord: page by page, until nothing is left, even if a zombie puts
// records in between.
func eraseRemovesEveryRecord(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	all := everyKind()
	for _, record := range all {
		p.put(key, record)
	}
	if n := p.erase(key, 3); n != 3 {
		p.t.Errorf("Erase(%s, 3) of %d records returns %d, want 3", key, len(all), n)
	}
	p.put(key, logRecord(3, 1)) // late
	erased := 3
	for n := p.erase(key, 5); n > 0; n = p.erase(key, 5) {
		if n > 5 {
			p.t.Fatalf("Erase(%s, 5) returns %d, more than its limit", key, n)
		}
		if erased += n; erased > len(all)+1 {
			p.t.Fatalf("Erase(%s) reports %d removed records, there were %d", key, erased, len(all)+1)
		}
	}
	for _, record := range append(all, logRecord(3, 1)) {
		p.wantNoRecord(key, record.Name)
	}
	for record, err := range p.b.Log(p.ctx, key, 0, 1_000_000) {
		p.t.Errorf("Log of an erased thread has %s, %v", record.Name, err)
	}
	p.wantRecords(key, "", "", 10)
	p.put(key, logRecord(1, 1)) // of a worker that was paused: it is as if nothing had been there
	if n := p.erase(key, 5); n != 1 {
		p.t.Errorf("Erase(%s, 5) of one late record returns %d, want 1", key, n)
	}
	if n := p.erase(key, 5); n != 0 {
		p.t.Errorf("Erase(%s, 5) of nothing returns %d, want 0", key, n)
	}
}

// eraseKeepsHeadPointersAndOtherThreads: the tombstone stays permanently, also for the ids
// of the thread's runs, and no thread whose name begins alike loses anything.
func eraseKeepsHeadPointersAndOtherThreads(p *probe) {
	key := p.key("t")
	p.commit(key, store.Commit{Pointers: []store.Pointer{{Name: "run:1", Value: []byte("t")}}, Records: everyKind(), Head: head(1, 1)})
	others := []core.ThreadKey{p.key("t2"), p.key("s"), p.key("T"), {Tenant: p.tenant + ".2", Thread: "t"}}
	for _, other := range others {
		p.commit(other, store.Commit{Records: []store.Record{logRecord(1, 1)}, Head: head(1, 1)})
	}
	for n := 1; n > 0; n = p.erase(key, 100) {
	}
	p.wantHead(key, head(1, 1))
	p.wantPointer(p.tenant, "run:1", []byte("t"))
	for _, other := range others {
		p.wantHead(other, head(1, 1))
		p.wantRecord(other, logRecord(1, 1))
	}
	p.set(key, head(2, 2))
}

func eraseIsChecked(p *probe) {
	key := p.key("t")
	if n := p.erase(p.key("never-written"), 1); n != 0 {
		p.t.Errorf("Erase of a thread that was never written returns %d, want 0", n)
	}
	p.commit(key, store.Commit{Records: []store.Record{logRecord(1, 1)}, Head: head(1, 1)})
	for _, tt := range []struct {
		key   core.ThreadKey
		limit int
	}{{key, 0}, {key, -1}, {p.key("a#b"), 1}, {core.ThreadKey{Tenant: "a#b", Thread: "t"}, 1}} {
		if n, err := p.b.Erase(p.ctx, tt.key, tt.limit); n != 0 || core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("Erase(%s, %d) returns %d, %v, want an error with code invalid", tt.key, tt.limit, n, err)
		}
	}
	done, cancel := context.WithCancel(p.ctx)
	cancel()
	if _, err := p.b.Erase(done, key, 1); !errors.Is(err, context.Canceled) {
		p.t.Errorf("Erase under a cancelled context returns %v, want its error", err)
	}
	p.wantRecord(key, logRecord(1, 1))
}

func (p *probe) erase(key core.ThreadKey, limit int) int {
	p.t.Helper()
	n, err := p.b.Erase(p.ctx, key, limit)
	if err != nil {
		p.t.Fatal(fmt.Errorf("Erase(%s, %d): %w", key, limit, err))
	}
	return n
}
