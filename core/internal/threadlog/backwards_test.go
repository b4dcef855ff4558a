package threadlog_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// oldLog is a log of an eventually consistent store: old are the versions that it returns in
// place of present ones, without a name for a record that is missing. It notes what is read.
type oldLog struct {
	payloads [][]byte // from sequence 1
	old      map[uint64]store.Record
	reads    []string
	fails    error
}

func (l *oldLog) record(seq uint64) store.Record {
	return store.Record{Name: store.LogName(seq), Payload: l.payloads[seq-1]}
}

func (l *oldLog) Log(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error] {
	panic("it is read forwards")
}

func (l *oldLog) LogBackwards(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	l.reads = append(l.reads, fmt.Sprintf("strong %d-%d", from, to))
	return func(yield func(store.Record, error) bool) {
		for seq := to; seq >= from && seq > 0; seq-- {
			if r := l.record(seq); r.Payload != nil && !yield(r, nil) {
				return
			}
		}
	}
}

func (l *oldLog) LogBackwardsEventually(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	l.reads = append(l.reads, fmt.Sprintf("%d-%d", from, to))
	return func(yield func(store.Record, error) bool) {
		for seq := to; seq >= from && seq > 0; seq-- {
			r, old := l.old[seq]
			if !old {
				r = l.record(seq)
			}
			if r.Name != "" && r.Payload != nil && !yield(r, nil) {
				return
			}
		}
		if l.fails != nil {
			yield(store.Record{}, l.fails)
		}
	}
}

// logAs is a log of the kinds of its records: t is a turn, a dot another record, and T a turn of
// a program that computes no checksum. It returns the checksum that its head has.
func logAs(t *testing.T, kinds string) (*oldLog, uint32) {
	t.Helper()
	l, sum := &oldLog{old: map[uint64]store.Record{}}, uint32(0)
	for i, kind := range kinds {
		seq := uint64(i + 1)
		e := thread.Entry{Step: i + 1}
		if kind != '.' {
			e.Message = &core.Message{Role: core.RoleAssistant}
		}
		if kind == 't' {
			e.Sum = sum
		}
		l.payloads = append(l.payloads, encoded(t, e))
		sum = thread.NextSum(sum, seq, &e, l.payloads[i])
	}
	return l, sum
}

func encoded(t *testing.T, e thread.Entry) []byte {
	t.Helper()
	payload, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// back reads ranges of so many entries from the end of a log, and returns the sequences.
func back(t *testing.T, l *oldLog, sum uint32, ranges ...uint64) (string, error) {
	t.Helper()
	seqs, next := "", uint64(len(l.payloads))
	b := threadlog.NewBackwards(l, thread.Records{}, core.ThreadKey{Tenant: "acme", Thread: "t1"}, next, sum)
	for _, n := range ranges {
		for e, err := range b.Older(t.Context(), n) {
			if err != nil {
				return seqs, err
			}
			if e.Seq != next || e.Step != int(next) {
				t.Errorf("the entry %d is returned at %d as that of %d", e.Step, next, e.Seq)
			}
			seqs += fmt.Sprint(" ", e.Seq)
			next--
		}
		seqs += ";"
	}
	return seqs, nil
}

func TestBackwardsReadsEventuallyWhatItVerifies(t *testing.T) {
	old := func(seq int) store.Record {
		return store.Record{Name: store.LogName(uint64(seq)), Payload: encoded(t, thread.Entry{Step: 99})}
	}
	turn := func(seq int) store.Record {
		return store.Record{Name: store.LogName(uint64(seq)), Payload: encoded(t, thread.Entry{Step: 99, Message: &core.Message{Role: core.RoleAssistant}})}
	}
	newer, err := thread.Records{Schemas: thread.Schemas{Reads: 9, Writes: 9}}.EncodeEntry(&thread.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		kinds  string
		ranges []uint64
		old    map[uint64]store.Record
		reads  string
		seqs   string
	}{
		{"nothing", "", []uint64{3}, nil, "", ";"},
		{"a log without a turn", "..", []uint64{9}, nil, "1-2", " 2 1;"},
		{"all", ".t..t.", []uint64{6}, nil, "1-6", " 6 5 4 3 2 1;"},
		{"segments of one", "ttt", []uint64{3}, nil, "1-3", " 3 2 1;"},
		{"no more than wanted, and what verifies it", ".t.t.t.t.", []uint64{3}, nil, "5-9", " 9 8 7 6;"},
		{"range by range", ".t.t.t.t.", []uint64{3, 9}, nil, "5-9, 1-5", " 9 8 7 6; 5 4 3 2 1;"},
		{"a long segment, whose wanted part is read strongly", ".t.......", []uint64{2, 3, 9}, nil, "6-9, strong 8-9, 3-7, strong 5-7, 1-4", " 9 8; 7 6 5; 4 3 2 1;"},
		{"a missing record", ".t.t.t.t.", []uint64{9}, map[uint64]store.Record{5: {}}, "1-9, strong 5-5, 1-4", " 9 8 7 6 5 4 3 2 1;"},
		{"the newest record is missing", ".t.t", []uint64{4}, map[uint64]store.Record{4: {}}, "1-4, strong 4-4, 1-3", " 4 3 2 1;"},
		{"the oldest record is missing", ".t.t", []uint64{4}, map[uint64]store.Record{1: {}}, "1-4, strong 1-1", " 4 3 2 1;"},
		{"an old version", ".t.t.t.t.", []uint64{9}, map[uint64]store.Record{5: old(5)}, "1-9, strong 4-5, 1-3", " 9 8 7 6 5 4 3 2 1;"},
		{"an old version of a turn", ".t.t.t", []uint64{6}, map[uint64]store.Record{4: old(4)}, "1-6, strong 2-5, 1-1", " 6 5 4 3 2 1;"},
		{"an old turn in the place of a result", ".t...t", []uint64{6}, map[uint64]store.Record{4: turn(4)}, "1-6, strong 4-5, 1-3", " 6 5 4 3 2 1;"},
		{"two in one segment", ".t....", []uint64{6}, map[uint64]store.Record{3: old(3), 5: old(5)}, "1-6, strong 2-6, 1-1", " 6 5 4 3 2 1;"},
		{"one that this program cannot read", ".t.t.", []uint64{5}, map[uint64]store.Record{3: {Name: store.LogName(3), Payload: newer}}, "1-5, strong 3-3, 1-2", " 5 4 3 2 1;"},
		{"one that none can", ".t.t.", []uint64{5}, map[uint64]store.Record{3: {Name: store.LogName(3), Payload: []byte("x")}}, "1-5, strong 3-3, 1-2", " 5 4 3 2 1;"},
		{"an old version beyond what is wanted", ".t.t.t.t.", []uint64{2}, map[uint64]store.Record{7: old(7)}, "6-9", " 9 8;"},
		{"turns without checksums are read strongly", ".t.T.T.", []uint64{7}, nil, "1-7, strong 1-5", " 7 6 5 4 3 2 1;"},
		{"up to one with a checksum", strings.Repeat(".t", 10) + ".T.T.t", []uint64{26}, nil, "1-26, strong 16-23, 1-15", " 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, sum := logAs(t, tt.kinds)
			l.old = tt.old
			seqs, err := back(t, l, sum, tt.ranges...)
			if diff := cmp.Diff([]string{tt.reads, tt.seqs}, []string{strings.Join(l.reads, ", "), seqs}); diff != "" || err != nil {
				t.Errorf("%v, reads and sequences (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Without a checksum at its end a log is read strongly until a turn has one, a few records at
// first.
func TestBackwardsWithoutAChecksum(t *testing.T) {
	l, _ := logAs(t, ".t.t.t.t.t.t.t.t")
	seqs, err := back(t, l, 0, 16)
	if want := "strong 9-16, 1-8"; err != nil || strings.Join(l.reads, ", ") != want || strings.Count(seqs, " ") != 16 {
		t.Errorf("%v: reads %q, want %q; %s", err, l.reads, want, seqs)
	}
	l, _ = logAs(t, strings.Repeat(".", 30))
	if _, err := back(t, l, 0, 30); err != nil || strings.Join(l.reads, ", ") != "strong 23-30, strong 1-22" {
		t.Errorf("%v: reads %q", err, l.reads)
	}
}

// What no strong read has is damage, and so is a record that a strong read has otherwise than
// when its checksum was computed.
func TestBackwardsFindsDamage(t *testing.T) {
	tests := []struct {
		name   string
		change func(l *oldLog)
		want   string
	}{
		{"a gap", func(l *oldLog) { l.payloads[3] = nil }, "log of acme/t1 has nothing at 4: stored data is corrupt"},
		{"a log that ends early", func(l *oldLog) { l.payloads[5] = nil }, "log of acme/t1 has nothing at 6: stored data is corrupt"},
		{"one that begins late", func(l *oldLog) { l.payloads[0] = nil }, "log of acme/t1 has nothing at 1: stored data is corrupt"},
		{"another record", func(l *oldLog) { l.payloads[3] = l.payloads[2] }, "log of acme/t1 from 2 to 4 has the checksum "},
		{"another first record", func(l *oldLog) { l.payloads[0] = l.payloads[2] }, "log of acme/t1 from 1 to 1 has the checksum "},
	}
	for _, tt := range tests {
		l, sum := logAs(t, ".t..t.")
		tt.change(l)
		if _, err := whole(t, l, sum); core.CodeOf(err) != core.CodeCorrupt || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	l, sum := logAs(t, ".t..t.")
	l.old, l.fails = map[uint64]store.Record{1: {}}, context.DeadlineExceeded
	if _, err := whole(t, l, sum); err == nil || err.Error() != "read log of acme/t1: context deadline exceeded" {
		t.Errorf("a failed read: %v", err)
	}
}

// whole reads a log whole, whatever its entries say.
func whole(t *testing.T, l *oldLog, sum uint32) (n int, err error) {
	b := threadlog.NewBackwards(l, thread.Records{}, core.ThreadKey{Tenant: "acme", Thread: "t1"}, uint64(len(l.payloads)), sum)
	for _, err := range b.Older(t.Context(), 99) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Whatever is old or missing, in whichever ranges a log is read: it is read as it is.
func TestBackwardsReadsTheLogAsItIs(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 9))
	strong := 0
	for range 300 {
		kinds := make([]byte, random.IntN(40))
		for i := range kinds {
			kinds[i] = "....ttttttT"[random.IntN(10+random.IntN(2))]
		}
		l, sum := logAs(t, string(kinds))
		for seq := range uint64(len(kinds)) {
			switch random.IntN(20) {
			case 0:
				l.old[seq+1] = store.Record{}
			case 1:
				l.old[seq+1] = store.Record{Name: store.LogName(seq + 1), Payload: slices.Clone(l.payloads[random.IntN(len(kinds))])}
			}
		}
		ranges := []uint64{1 + random.Uint64N(9), 1 + random.Uint64N(9), 40}
		if random.IntN(5) == 0 {
			sum = 0
		}
		seqs, err := back(t, l, sum, ranges...)
		if err != nil || strings.Count(seqs, " ") != len(kinds) {
			t.Fatalf("%s with %v: %v, %s", kinds, l.old, err, seqs)
		}
		strong += strings.Count(strings.Join(l.reads, " "), "strong")
	}
	if strong < 300 {
		t.Errorf("%d strong reads: the logs are tamer than they should be", strong)
	}
}
