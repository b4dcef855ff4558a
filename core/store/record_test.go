package store_test

import (
	"errors"
	"math"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

func TestNamesOfRecords(t *testing.T) {
	id := core.ID{0x01, 0x90, 0xab, 15: 0xff}
	const text = "0190ab00-0000-0000-0000-0000000000ff"
	tests := []struct {
		got, want string
		kind      store.Kind
	}{
		{store.LogName(0), "M#000000000000", store.KindLog},
		{store.LogName(42), "M#000000000042", store.KindLog},
		{store.LogName(999_999_999_999), "M#999999999999", store.KindLog},
		{store.InputName(id, 3), "Q#" + text + "#3", store.KindCreate},
		{store.DecisionName("d.1"), "D#d.1", store.KindCreate},
		{store.AuditName(id), "A#" + text, store.KindCreate},
		{store.RunName(id), "R#" + text, store.KindRewrite},
		{"Z#000000000042", "Z#000000000042", store.KindLog},
		{"S#state", "S#state", store.KindRewrite},
		{"C#1", "C#1", store.KindRewrite},
		{"X#1", "X#1", 0},
		{"", "", 0},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("name is %q, want %q", tt.got, tt.want)
		}
		if kind := (store.Record{Name: tt.got}).Kind(); kind != tt.kind {
			t.Errorf("kind of %q is %d, want %d", tt.got, kind, tt.kind)
		}
	}
}

func TestLogSeqReadsOnlyLogNames(t *testing.T) {
	tests := []struct {
		name string
		seq  uint64
		ok   bool
	}{
		{"M#000000000000", 0, true},
		{"M#000000000042", 42, true},
		{"M#999999999999", 999_999_999_999, true},
		{"M#42", 0, false},
		{"M#1000000000000", 0, false},
		{"M#+00000000042", 0, false},
		{"M#-00000000042", 0, false},
		{"M#00000000042 ", 0, false},
		{"Z#000000000042", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if seq, ok := store.LogSeq(tt.name); ok != tt.ok || ok && seq != tt.seq {
			t.Errorf("LogSeq(%q) is %d, %v, want %d, %v", tt.name, seq, ok, tt.seq, tt.ok)
		}
	}
}

// A thread's shard is stored in indexes, so it never changes.
func TestShardIsFixedForGood(t *testing.T) {
	tests := []struct {
		key  core.ThreadKey
		want int
	}{
		{core.ThreadKey{Tenant: "acme", Thread: "t1"}, 7},
		{core.ThreadKey{Tenant: "acme", Thread: "t2"}, 10},
		{core.ThreadKey{Tenant: "default", Thread: "0190ab00-0000-7000-8000-000000000001"}, 2},
	}
	for _, tt := range tests {
		if got := store.Shard(tt.key); got != tt.want {
			t.Errorf("Shard(%s) is %d, want %d", tt.key, got, tt.want)
		}
	}
}

// The bounds of a log are read from a stored head; a corrupt one must not take
// the process's memory.
func TestReadLogOfAnAbsurdLengthIsCorrupt(t *testing.T) {
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
	if _, err := store.ReadLog(t.Context(), memory.New(), key, 1, math.MaxUint64-1); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("ReadLog answers the error %v, want ErrCorrupt", err)
	}
}

func TestReadLogRefusesWhatIsNoEntry(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 1, Payload: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReadLog(t.Context(), s, key, 1, 1); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("ReadLog answers the error %v, want ErrCorrupt", err)
	}
}
