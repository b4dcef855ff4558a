package storetest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var logClauses = []clause{
	{"LogIsInOrderWithinItsBounds", logIsInOrderWithinItsBounds},
	{"LogHasOnlyLogRecords", logHasOnlyLogRecords},
	{"LogShowsAPutAtOnce", logShowsAPutAtOnce},
	{"LogOfManyRecords", logOfManyRecords},
	{"LogMayBeLeftAndWrittenTo", logMayBeLeftAndWrittenTo},
	{"LogIsReadBackwardsToo", logIsReadBackwardsToo},
	{"LogBackwardsMayBeLeftAndWrittenTo", logBackwardsMayBeLeftAndWrittenTo},
	{"LogBackwardsOfManyRecords", logBackwardsOfManyRecords},
	{"LogBackwardsIsTheLogTheOtherWay", logBackwardsIsTheLogTheOtherWay},
	{"ACancelledLogIsNeverShort", aCancelledLogIsNeverShort},
	{"LogLeavesOutWhatIsMissing", logLeavesOutWhatIsMissing},
}

func logIsInOrderWithinItsBounds(p *probe) {
	key := p.key("t")
	for _, seq := range []uint64{10, 3, 1, 6, 2, 5, 100} {
		p.put(key, logRecord(seq, 1))
	}
	p.wantLog(key, 1, 3, 1, 2, 3)
	p.wantLog(key, 2, 2, 2)
	p.wantLog(key, 3, 5, 3, 5) // missing ones are omitted
	p.wantLog(key, 4, 4)
	p.wantLog(key, 7, 9)
	p.wantLog(key, 6, 10, 6, 10) // records past the bound are not shown
	p.wantLog(key, 101, 200)
	p.wantLog(key, 6, 5) // from > to is empty, not an error
	p.wantLog(key, 0, 999_999_999_999, 1, 2, 3, 5, 6, 10, 100)
	p.wantLog(p.key("never-written"), 1, 10)
}

func logHasOnlyLogRecords(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	for _, name := range []string{"A#1", "C#1", "D#1", "O#1", "P#1", "Q#1", "R#1", "S#1", "Z#000000000001"} {
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

func logOfManyRecords(p *probe) {
	key, payload := p.longLog()
	p.wantLongLog("Log", p.b.Log(p.ctx, key, 0, longLog), payload, func(i int) uint64 { return uint64(i) })
}

func logBackwardsOfManyRecords(p *probe) {
	key, payload := p.longLog()
	p.wantLongLog("LogBackwards", p.b.LogBackwards(p.ctx, key, 0, longLog), payload, func(i int) uint64 { return longLog - 1 - uint64(i) })
}

// longLog records are more than one page of backends that return a megabyte at
// a time.
const longLog = 110

func (p *probe) longLog() (key core.ThreadKey, payload []byte) {
	key, payload = p.key("t"), noise(12<<10)
	for seq := range uint64(longLog) {
		p.put(key, store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload})
	}
	return key, payload
}

func (p *probe) wantLongLog(method string, log iter.Seq2[store.Record, error], payload []byte, seq func(i int) uint64) {
	p.t.Helper()
	seen := 0
	for record, err := range log {
		if err != nil {
			p.t.Fatalf("%s of %d records of %d bytes: %v", method, longLog, len(payload), err)
		}
		if want := store.LogName(seq(seen)); record.Name != want || string(record.Payload) != string(payload) {
			p.t.Fatalf("%s of %d records of %d bytes returns %s where %s belongs", method, longLog, len(payload), describe(record), want)
		}
		seen++
	}
	if seen != longLog {
		p.t.Errorf("%s of %d records of %d bytes ends after %d", method, longLog, len(payload), seen)
	}
}

// logMayBeLeftAndWrittenTo: a caller may stop early, and may write while it
// reads; a backend must not hold a lock across the loop's body.
func logMayBeLeftAndWrittenTo(p *probe) {
	p.mayBeLeft("Log", p.b.Log, store.LogName(1))
}

func logBackwardsMayBeLeftAndWrittenTo(p *probe) {
	p.mayBeLeft("LogBackwards", p.b.LogBackwards, store.LogName(3))
}

func (p *probe) mayBeLeft(method string, read func(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error], first string) {
	p.t.Helper()
	key := p.key("t")
	for seq := uint64(1); seq <= 3; seq++ {
		p.put(key, logRecord(seq, 1))
	}
	log := read(p.ctx, key, 1, 3)
	for record, err := range log {
		if err != nil || record.Name != first {
			p.t.Fatalf("%s returns first %s, %v, want %s", method, record.Name, err, first)
		}
		p.put(p.key("t2"), logRecord(1, 1))
		p.set(key, head(1, 1))
		break
	}
	if seen := len(collect(p.t, log)); seen != 3 {
		p.t.Errorf("ranging a second time over what %s returns, after leaving it early, gives %d records, want 3", method, seen)
	}
}

func logIsReadBackwardsToo(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	for _, seq := range []uint64{10, 3, 0, 1, 6, 2, 5, 100} {
		p.put(key, logRecord(seq, 1))
	}
	p.put(key, store.Record{Name: "C#1#1#0#s", Payload: []byte("a")}) // names on both sides of the log's
	p.put(key, store.Record{Name: "Q#1#0", Payload: []byte("a")})
	p.put(p.key("t2"), logRecord(4, 1))
	p.wantBackwards(key, 1, 3, 3, 2, 1)
	p.wantBackwards(key, 2, 2, 2)
	p.wantBackwards(key, 3, 5, 5, 3) // missing ones are omitted
	p.wantBackwards(key, 4, 4)
	p.wantBackwards(key, 7, 9)
	p.wantBackwards(key, 6, 10, 10, 6) // records past the bounds are not shown
	p.wantBackwards(key, 101, 200)
	p.wantBackwards(key, 6, 5) // from > to is empty, not an error
	p.wantBackwards(key, 0, 0, 0)
	p.wantBackwards(key, 0, 999_999_999_999, 100, 10, 6, 5, 3, 2, 1, 0)
	p.wantBackwards(key, 5, 1<<64-1, 100, 10, 6, 5)
	p.wantBackwards(p.key("never-written"), 1, 10)
}

// logBackwardsIsTheLogTheOtherWay compares all ranges of a log with gaps.
func logBackwardsIsTheLogTheOtherWay(p *probe) {
	key := p.key("t")
	for _, seq := range []uint64{0, 1, 2, 9, 10, 11, 99, 100, 1000} {
		p.put(key, logRecord(seq, 1+seq%3))
	}
	bounds := []uint64{0, 1, 3, 9, 10, 12, 100, 999, 1001, thread.MaxSeq, 1<<64 - 1}
	for _, from := range bounds {
		for _, to := range bounds {
			there := collect(p.t, p.b.Log(p.ctx, key, from, to))
			back := collect(p.t, p.b.LogBackwards(p.ctx, key, from, to))
			slices.Reverse(back)
			if diff := diffRecords(there, back); diff != "" {
				p.t.Errorf("LogBackwards(%d, %d) has other records than Log (-Log +LogBackwards):\n%s", from, to, diff)
			}
		}
	}
}

func logLeavesOutWhatIsMissing(p *probe) {
	key := p.key("t")
	for _, seq := range []uint64{1, 2, 3, 5} {
		p.put(key, store.Record{Name: store.LogName(seq), Fence: 1, Payload: []byte("{}")})
	}
	p.wantLog(key, 1, 6, 1, 2, 3, 5)
	p.wantBackwards(key, 1, 6, 5, 3, 2, 1)
	p.wantLog(key, 4, 4)
	p.wantLog(key, 6, 6)
}

func (p *probe) wantLog(key core.ThreadKey, from, to uint64, seqs ...uint64) {
	p.t.Helper()
	if diff := cmp.Diff(logNames(seqs), names(collect(p.t, p.b.Log(p.ctx, key, from, to)))); diff != "" {
		p.t.Errorf("Log(%s, %d, %d) (-want +got):\n%s", key, from, to, diff)
	}
}

func (p *probe) wantBackwards(key core.ThreadKey, from, to uint64, seqs ...uint64) {
	p.t.Helper()
	if diff := cmp.Diff(logNames(seqs), names(collect(p.t, p.b.LogBackwards(p.ctx, key, from, to)))); diff != "" {
		p.t.Errorf("LogBackwards(%s, %d, %d) (-want +got):\n%s", key, from, to, diff)
	}
}

func logNames(seqs []uint64) []string {
	list := []string{}
	for _, seq := range seqs {
		list = append(list, store.LogName(seq))
	}
	return list
}

func collect(t *testing.T, log iter.Seq2[store.Record, error]) []store.Record {
	t.Helper()
	var records []store.Record
	for record, err := range log {
		if err != nil {
			t.Fatal(fmt.Errorf("iterating over the log: %w", err))
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
