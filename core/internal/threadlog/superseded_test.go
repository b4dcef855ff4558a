package threadlog_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// readings counts the readings of a log.
type readings struct {
	store.Backend
	n int
}

func (r *readings) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	r.n++
	return r.Backend.Log(ctx, key, from, to)
}

// putSuperseding stores the record behind a range, under any fence.
func putSuperseding(t *testing.T, s store.Backend, key core.ThreadKey, at uint64, e thread.Entry) {
	t.Helper()
	payload, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(at), Fence: 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// A record names 64 ranges before its own; those before them cost one more
// reading.
func TestSupersededReadsOneRecordForEach65Ranges(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	var all []thread.Range // newest first: 10 to 12, 20 to 22, ...
	for n := range uint64(200) {
		r := thread.Range{From: 10 * (n + 1), To: 10*(n+1) + 2}
		putSuperseding(t, s, key, r.To+1, thread.Entry{Run: core.ID{1}, Superseded: &r, Earlier: all[:min(len(all), 64)]})
		all = append([]thread.Range{r}, all...)
	}
	tests := []struct {
		name        string
		newest, seq uint64
		want        []thread.Range
		readings    int
	}{
		{"none", 0, 0, nil, 0},
		{"none behind", 2003, 2003, nil, 0},
		{"the last one's end", 2003, 2001, all[:65], 1},
		{"some", 2003, 1500, all[:65], 1},
		{"65", 2003, 1359, all[:65], 1},
		{"an end before the 65th", 2003, 1352, all[:129], 2},
		{"all of 65", 653, 0, all[135:], 2},
		{"all of 64", 643, 0, all[136:], 1},
		{"all", 2003, 0, all, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			counted := &readings{Backend: s}
			got, err := threadlog.Superseded(t.Context(), counted, thread.Records{}, key, tt.newest, tt.seq)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if counted.n != tt.readings {
				t.Errorf("%d readings, want %d", counted.n, tt.readings)
			}
		})
	}
}

// The record behind an earlier range may stand right before the next one, and a range may
// be of a single record.
func TestSupersededRangesMayTouch(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	putSuperseding(t, s, key, 7, thread.Entry{Superseded: &thread.Range{From: 5, To: 6}, Earlier: []thread.Range{{From: 3, To: 3}, {From: 1, To: 1}}})
	got, err := threadlog.Superseded(t.Context(), s, thread.Records{}, key, 7, 0)
	if diff := cmp.Diff([]thread.Range{{From: 5, To: 6}, {From: 3, To: 3}, {From: 1, To: 1}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestSupersededRefusesWhatNoRunWrites(t *testing.T) {
	many := make([]thread.Range, 64)
	for i := range many {
		many[i] = thread.Range{From: uint64(500 - 5*i), To: uint64(501 - 5*i)}
	}
	tests := []struct {
		name  string
		entry thread.Entry
	}{
		{"a record that supersedes nothing", thread.Entry{}},
		{"a range that ends elsewhere", thread.Entry{Superseded: &thread.Range{From: 3, To: 8}}},
		{"a range from 0", thread.Entry{Superseded: &thread.Range{From: 0, To: 999}}},
		{"a range that ends before it begins", thread.Entry{Superseded: &thread.Range{From: 1001, To: 999}}},
		{"an earlier one inside", thread.Entry{Superseded: &thread.Range{From: 3, To: 999}, Earlier: []thread.Range{{From: 2, To: 3}}}},
		{"an earlier one whose record is inside", thread.Entry{Superseded: &thread.Range{From: 5, To: 999}, Earlier: []thread.Range{{From: 2, To: 4}}}},
		{"a record further back that is missing", thread.Entry{Superseded: &thread.Range{From: 600, To: 999}, Earlier: many}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
			putSuperseding(t, s, key, 1000, tt.entry)
			ranges, err := threadlog.Superseded(t.Context(), s, thread.Records{}, key, 1000, 0)
			if !errors.Is(err, store.ErrCorrupt) || ranges != nil {
				t.Errorf("Superseded returns %v, %v, want ErrCorrupt", ranges, err)
			}
		})
	}
}
