package storetest

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

var logClauses = []clause{
	{"LogIsInOrderWithinItsBounds", logIsInOrderWithinItsBounds},
	{"LogHasOnlyLogRecords", logHasOnlyLogRecords},
	{"LogShowsAPutAtOnce", logShowsAPutAtOnce},
	{"LogOfManyRecords", logOfManyRecords},
	{"LogMayBeLeftAndWrittenTo", logMayBeLeftAndWrittenTo},
	{"ReadLogFindsGaps", readLogFindsGaps},
}

func logIsInOrderWithinItsBounds(p *probe) {
	key := p.key("t")
	for _, seq := range []uint64{10, 3, 1, 6, 2, 5, 100} {
		p.put(key, logRecord(seq, 1))
	}
	p.wantLog(key, 1, 3, 1, 2, 3)
	p.wantLog(key, 2, 2, 2)
	p.wantLog(key, 3, 5, 3, 5) // missing ones are left out
	p.wantLog(key, 4, 4)
	p.wantLog(key, 7, 9)
	p.wantLog(key, 6, 10, 6, 10) // what lies behind the bound is not shown
	p.wantLog(key, 101, 200)
	p.wantLog(key, 6, 5) // from > to is empty, not an error
	p.wantLog(key, 0, 999_999_999_999, 1, 2, 3, 5, 6, 10, 100)
	p.wantLog(p.key("never-written"), 1, 10)
}

func logHasOnlyLogRecords(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	for _, name := range []string{"A#1", "C#1", "D#1", "Q#1", "R#1", "S#1", "Z#000000000001"} {
		p.put(key, store.Record{Name: name, Payload: []byte("a")})
	}
	p.put(key, logRecord(1, 1))
	p.put(p.key("t2"), logRecord(2, 1))
	p.wantLog(key, 0, 999_999_999_999, 1)
}

func logShowsAPutAtOnce(p *probe) {
	key := p.key("t")
	for seq := uint64(1); seq <= 20; seq++ {
		p.put(key, logRecord(seq, 1))
		p.wantLog(key, seq, seq, seq)
	}
	p.put(key, logRecord(20, 2))
	p.wantRecord(key, logRecord(20, 2))
}

// logOfManyRecords is more than one page of backends that answer by the megabyte.
func logOfManyRecords(p *probe) {
	const records, size = 110, 12 << 10
	key := p.key("t")
	payload := noise(size)
	for seq := range uint64(records) {
		p.put(key, store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload})
	}
	next := uint64(0)
	for record, err := range p.b.Log(p.ctx, key, 0, records) {
		if err != nil {
			p.t.Fatalf("Log of %d records of %d bytes: %v", records, size, err)
		}
		if record.Name != store.LogName(next) || string(record.Payload) != string(payload) {
			p.t.Fatalf("Log of %d records of %d bytes answers %s where %s belongs", records, size, describe(record), store.LogName(next))
		}
		next++
	}
	if next != records {
		p.t.Errorf("Log of %d records of %d bytes ends after %d", records, size, next)
	}
}

// logMayBeLeftAndWrittenTo: a caller may stop early, and may write while it
// reads; a backend must not hold a lock across the loop's body.
func logMayBeLeftAndWrittenTo(p *probe) {
	key := p.key("t")
	for seq := uint64(1); seq <= 3; seq++ {
		p.put(key, logRecord(seq, 1))
	}
	log := p.b.Log(p.ctx, key, 1, 3)
	for record, err := range log {
		if err != nil || record.Name != store.LogName(1) {
			p.t.Fatalf("Log answers first %s, %v, want %s", record.Name, err, store.LogName(1))
		}
		p.put(p.key("t2"), logRecord(1, 1))
		p.set(key, head(1, 1))
		break
	}
	seen := 0
	for range log {
		seen++
	}
	if seen != 3 {
		p.t.Errorf("ranging a second time over what Log answered, after leaving it early, gives %d records, want 3", seen)
	}
}

func readLogFindsGaps(p *probe) {
	entry := func(seq uint64) store.Record {
		payload, err := thread.Entry{Run: core.ID{1}, Step: int(seq)}.Encode()
		if err != nil {
			p.t.Fatal(err)
		}
		return store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload}
	}
	key := p.key("t")
	for _, seq := range []uint64{1, 2, 3, 5} {
		p.put(key, entry(seq))
	}
	entries, err := store.ReadLog(p.ctx, p.b, key, 1, 3)
	if err != nil || len(entries) != 3 || entries[0].Step != 1 || entries[2].Step != 3 {
		p.t.Errorf("ReadLog(1, 3) with 1, 2, 3 and the orphan 5 stored answers %d entries, %v, want the entries 1, 2, 3", len(entries), err)
	}
	for _, to := range []uint64{4, 5, 6} {
		if _, err := store.ReadLog(p.ctx, p.b, key, 1, to); !errors.Is(err, store.ErrCorrupt) {
			p.t.Errorf("ReadLog(1, %d) with 4 and 6 missing answers the error %v, want ErrCorrupt", to, err)
		}
	}
}

func (p *probe) wantLog(key core.ThreadKey, from, to uint64, seqs ...uint64) {
	p.t.Helper()
	want := []string{}
	for _, seq := range seqs {
		want = append(want, store.LogName(seq))
	}
	got := names(collect(p.t, p.b.Log(p.ctx, key, from, to)))
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("Log(%s, %d, %d) (-want +got):\n%s", key, from, to, diff)
	}
}

func collect(t *testing.T, log iter.Seq2[store.Record, error]) []store.Record {
	t.Helper()
	var records []store.Record
	for record, err := range log {
		if err != nil {
			t.Fatal(fmt.Errorf("iterating over Log: %w", err))
		}
		records = append(records, record)
	}
	return records
}

func firstError(log iter.Seq2[store.Record, error]) error {
	for _, err := range log {
		if err != nil {
			return err
		}
	}
	return nil
}
