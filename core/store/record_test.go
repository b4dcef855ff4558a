package store_test

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
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
		{store.LogName(123_456_789_012), "M#123456789012", store.KindLog},
		{store.LogName(999_999_999_999), "M#999999999999", store.KindLog},
		{store.LogName(1_234_567_890_123), "M#1234567890123", store.KindLog},
		{recordname.Input(id, 4_294_967_295), "Q#" + text + "#4294967295", store.KindCreate},
		{recordname.Input(id, 3), "Q#" + text + "#3", store.KindCreate},
		{recordname.Decision(id, 42, 31, 0xd1), "D#" + text + "#42#31#00000000000000d1", store.KindCreate},
		{recordname.Read(id), "A#" + text + "#read", store.KindRewrite},
		{recordname.Ended(id), "A#" + text + "#ended", store.KindRewrite},
		{recordname.Run(id), "R#" + text, store.KindRewrite},
		{recordname.About, "T#", store.KindRewrite},
		{recordname.Activity, "L#", store.KindLatest},
		{recordname.Listing(id), "L#" + text, store.KindLatest},
		{recordname.Snapshot, "S#", store.KindRewrite},
		{recordname.SnapshotValue("/thread/notes"), "S#/thread/notes", store.KindRewrite},
		{recordname.Round(id, 17), "C#" + text + "#round#17", store.KindRewrite},
		{recordname.End(id, 17), "C#" + text + "#end#17", store.KindRewrite},
		{recordname.Follow, "F#", store.KindRewrite},
		{recordname.Suspension(id, 42, 0, 0xa), "C#" + text + "#42#0#000000000000000a", store.KindRewrite},
		{recordname.Part(id, 42, 0, "charge"), "C#" + text + "#42#0#once#charge", store.KindCreate},
		{recordname.Part(id, 42, 0, "a#b"), "C#" + text + "#42#0#once#a#b", store.KindCreate},
		{"C#run#42#0#twice#charge", "C#run#42#0#twice#charge", store.KindRewrite},
		{"C#run#42#0#once", "C#run#42#0#once", store.KindRewrite},
		{recordname.Summary(42), "Z#42", store.KindCreate},
		{recordname.Prompt("0190ab"), "P#0190ab", store.KindCreate},
		{recordname.Outbox(id), "O#" + text, store.KindCreate},
		{recordname.Chunks(id, 2, 3), "E#" + text + "#2#3#", store.KindCreate},
		{recordname.Chunk("E#1#2#3#", 4), "E#1#2#3#000004", store.KindCreate},
		{recordname.Chunk("E#1#2#3#", 1_234_567), "E#1#2#3#1234567", store.KindCreate},
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
		{"000000000042", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if seq, ok := (store.Record{Name: tt.name}).LogSeq(); ok != tt.ok || seq != tt.seq {
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
		if got := (store.Overdue{Key: tt.key}).Shard(); got != tt.want {
			t.Errorf("Shard(%s) is %d, want %d", tt.key, got, tt.want)
		}
	}
}

func TestAdmitNamesWhatItRefuses(t *testing.T) {
	stored := store.Record{Name: "R#1", Fence: 7, Version: 9, Payload: []byte("a")}
	_, err := store.Record{Name: "R#1", Fence: 7, Version: 8, Payload: []byte("b")}.Admit(&stored)
	var refused *store.RefusedError
	if !errors.As(err, &refused) || refused.Name != "R#1" || !errors.Is(err, store.ErrFenced) {
		t.Fatalf("Admit returns the error %v, want a *RefusedError with the name R#1 and the cause ErrFenced", err)
	}
	if want := "record R#1: stored under fence 7 at version 9, ours is 7 at 8: claim was lost to a later one"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	if write, err := (store.Record{Name: "X#1"}).Admit(nil); write || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("Admit of a name without a kind returns %v, %v, want code invalid", write, err)
	}
}
