package memory_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var key = core.ThreadKey{Tenant: "acme", Thread: "t1"}

func TestContract(t *testing.T) {
	storetest.Options{}.Run(t, func(*testing.T) store.Backend { return memory.New() })
}

// A written payload is the caller's bytes, without much room behind them; what was read
// stays as it was when another takes its place, and is the reader's.
func TestPayloadsAreKeptAsTheyCome(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	stored := func() []byte { // what a reader gets is a copy: a write through the caller's bytes shows whether they are stored
		t.Helper()
		got, ok, err := s.Get(ctx, key, "R#1")
		if err != nil || !ok || got.Payload == nil {
			t.Fatalf("Get returns %v, %t, %v", got, ok, err)
		}
		return got.Payload
	}
	tests := []struct {
		name    string
		payload []byte
		want    string // after the caller has changed the first letter
	}{
		{"of its exact size", []byte("a payload of 24 letters."), "A payload of 24 letters."},
		{"with little room", append(make([]byte, 0, 27), "a payload of 24 letters."...), "A payload of 24 letters."},
		{"with much room", append(make([]byte, 0, 28), "a payload of 24 letters."...), "a payload of 24 letters."},
		{"of no bytes", []byte{}, ""},
		{"nil", nil, ""},
	}
	before := []byte{}
	for version, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			was := string(before)
			if err := s.Put(ctx, key, store.Record{Name: "R#1", Fence: 1, Version: uint64(version), Payload: tt.payload}); err != nil {
				t.Fatal(err)
			}
			if len(tt.payload) > 0 {
				tt.payload[0] = 'A'
			}
			got := stored()
			if string(got) != tt.want {
				t.Errorf("stored is %q, want %q", got, tt.want)
			}
			if string(before) != was {
				t.Errorf("the payload that was read before became %q", before)
			}
			before = got
			copy(stored(), "YYYYYY")
			if again := stored(); string(again) != tt.want {
				t.Errorf("after a reader changed its copy stored is %q", again)
			}
		})
	}
}

func TestHeadIsNotSharedWithTheCaller(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	head := thread.Head{Version: 1, Pending: []thread.Dispatch{{Priority: 7}}}
	if out, err := s.Commit(ctx, key, store.Commit{Head: head}); !out.Written || err != nil {
		t.Fatalf("Commit returns %+v, %v", out, err)
	}
	head.Pending[0].Priority = 9
	if read, _ := s.Head(ctx, key); read.Pending[0].Priority != 7 {
		t.Errorf("after the writer changed its head the stored priority is %d, want 7", read.Pending[0].Priority)
	}
}

// What the contract leaves to a backend: the words of a refusal, and the revision of a
// total, which counts its writes here.
func TestMemorySaysWhatItRefuses(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	for shard, want := range map[int]string{16: "shard 16 is not in 0..15", -1: "shard -1 is not in 0..15"} {
		if page, err := s.Overdue(ctx, shard, 1, nil, 1); page != nil || core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
			t.Errorf("Overdue of shard %d returns %v, %v; want %s", shard, page, err, want)
		}
	}
	if content, ok, err := s.Snapshot(ctx, "a#b"); content != nil || ok || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("Snapshot of a bad hash returns %q, %v, %v", content, ok, err)
	}
	mark := store.UsageMark{Tenant: "acme", Hour: 1}
	for revision := range uint64(3) {
		if err := s.SumUsage(ctx, mark, store.UsageTotal{Hour: 1, Revision: revision, Payload: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		totals, err := s.UsageTotals(ctx, "acme", 1, 1, 10)
		if err != nil || len(totals) != 1 || totals[0].Revision != revision+1 {
			t.Errorf("totals are %+v, %v; want one of revision %d", totals, err, revision+1)
		}
	}
	if err := s.SumUsage(ctx, mark, store.UsageTotal{Hour: 1, Revision: 2, Payload: []byte("{}")}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an older total is stored: %v", err)
	}
}

var histories = flag.Int("linear.histories", 100, "histories to check")

func TestHistoriesAreLinearizable(t *testing.T) {
	storetest.Options{}.Linearizable(t, func(*testing.T) store.Backend { return memory.New() }, *histories)
}
