package storetest

import (
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var sharedClauses = []clause{
	{"WhatAWriterChangesLaterIsNotStored", whatAWriterChangesLaterIsNotStored},
	{"WhatAReaderChangesIsItsOwn", whatAReaderChangesIsItsOwn},
}

// spoil is what a caller does that uses its buffer again.
func spoil(buffer []byte) {
	for i := range buffer {
		buffer[i] = 'X'
	}
}

// whatAWriterChangesLaterIsNotStored holds for all but the payloads of records, which a
// caller gives away: see [store.Record].
func whatAWriterChangesLaterIsNotStored(p *probe) {
	key := p.key("t")
	alone, together := logRecord(1, 1), logRecord(2, 1)
	alone.Payload, together.Payload = []byte("alone"), []byte("together")
	value := []byte("value")
	h := head(1, 1)
	h.Pending, h.Recent = []thread.Dispatch{{Priority: 7}}, []uint64{7}

	p.put(key, alone)
	c := store.Commit{Pointers: []store.Pointer{{Name: "p", Value: value, TTL: time.Hour}}, Records: []store.Record{together}, Head: h}
	p.commit(key, c)
	snapshot := []byte(`"snapshot"`)
	p.putSnapshot(p.tenant, snapshot)
	for _, buffer := range [][]byte{value, snapshot} {
		spoil(buffer)
	}
	c.Records[0].Name, c.Pointers[0].Name = "X", "X"
	h.Pending[0].Priority, h.Recent[0] = 9, 9

	for name, want := range map[string]string{store.LogName(1): "alone", store.LogName(2): "together"} {
		if got, _, err := p.b.Get(p.ctx, key, name); err != nil || string(got.Payload) != want {
			p.t.Errorf("after its writer used its list again, %s has %q, %v, want %q", name, got.Payload, err, want)
		}
	}
	p.wantPointer(p.tenant, "p", []byte("value"))
	p.wantSnapshot(p.tenant, []byte(`"snapshot"`))
	if got := p.head(key); got.Pending[0].Priority != 7 || got.Recent[0] != 7 {
		p.t.Errorf("after its writer changed the tables of its head, the stored one has %+v and %v", got.Pending, got.Recent)
	}
}

func whatAReaderChangesIsItsOwn(p *probe) {
	key := p.key("t")
	h := head(1, 1)
	h.Pending, h.Recent = []thread.Dispatch{{Priority: 7}}, []uint64{7}
	record := logRecord(1, 1)
	p.commit(key, store.Commit{Pointers: []store.Pointer{{Name: "p", Value: []byte("value"), TTL: time.Hour}}, Records: []store.Record{record}, Head: h})
	p.putSnapshot(p.tenant, []byte(`"snapshot"`))

	got, _, err := p.b.Get(p.ctx, key, record.Name)
	if err != nil {
		p.t.Fatal(err)
	}
	spoil(got.Payload)
	for _, all := range [][]store.Record{collect(p.t, p.b.Log(p.ctx, key, 1, 1)), collect(p.t, p.b.LogBackwards(p.ctx, key, 1, 1))} {
		for _, r := range all {
			spoil(r.Payload)
		}
	}
	listed, err := p.b.Records(p.ctx, key, "M#", "", 10)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range listed {
		spoil(r.Payload)
	}
	refused, err := p.b.Commit(p.ctx, key, store.Commit{Head: head(1, 2)})
	if err != nil || len(refused.Head.Pending) != 1 {
		p.t.Fatalf("Commit(version 1 over 1) returns %+v, %v, want the stored head", refused, err)
	}
	read := p.head(key)
	for _, head := range []thread.Head{read, refused.Head} {
		head.Pending[0].Priority, head.Recent[0] = 9, 9
	}
	taken, err := p.b.Commit(p.ctx, key, store.Commit{Pointers: []store.Pointer{{Name: "p", Value: []byte("other")}}, Head: head(2, 2)})
	if err != nil || len(taken.Taken) != 1 {
		p.t.Fatalf("Commit with a taken pointer returns %+v, %v", taken, err)
	}
	spoil(taken.Taken[0].Value)
	if value, _, err := p.b.Pointer(p.ctx, p.tenant, "p"); err == nil {
		spoil(value)
	}
	if content, _, err := p.b.Snapshot(p.ctx, p.tenant); err == nil {
		spoil(content)
	}

	p.wantRecord(key, record)
	p.wantHead(key, h)
	p.wantPointer(p.tenant, "p", []byte("value"))
	p.wantSnapshot(p.tenant, []byte(`"snapshot"`))
}
