package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

func TestDefaultSizeOfTheCache(t *testing.T) {
	for size, want := range map[int]int{0: 64 << 20, 1: 1} {
		if got := New(Options{CacheSize: size}).cache.limit; got != want {
			t.Errorf("a cache of %d bytes has %d, want %d", size, got, want)
		}
	}
}

// What a run was asked is not looked for when its beginning is not known, nor
// before it is committed.
func TestOpeningThatIsNotInTheLogIsNotRead(t *testing.T) {
	for _, first := range []uint64{0, 8} {
		r := New(Options{Store: &snapshots{}}) // it has no log
		if opening, err := r.ReadOpening(t.Context(), At{Head: &thread.Head{Seq: 7}}, first); err != nil || opening.Message != nil {
			t.Errorf("from sequence %d on: %+v, %v; want nothing", first, opening, err)
		}
	}
}

// snapshots is an empty store that notes how many records are listed.
type snapshots struct {
	Store
	limit int
}

func (s *snapshots) Records(_ context.Context, _ core.ThreadKey, _, _ string, limit int) ([]store.Record, error) {
	s.limit = limit
	return nil, nil
}

// A state of more keys than a step reads at once is not stored.
func TestSnapshotHasAtMost999Keys(t *testing.T) {
	for keys, want := range map[int]int{0: 0, 1: 1, 999: 999, 1000: -1} {
		values := map[state.KeyPath]json.RawMessage{}
		for i := range keys {
			values[state.KeyPath{Scope: state.ScopeThread, Name: fmt.Sprint("k", i)}] = json.RawMessage("1")
		}
		now, got := state.Snapshot{}.With(1, values), -1
		saved, err := (&Conversation{Seq: 9, turns: 2, Snapshot: now}).SaveState(thread.Records{}, now, false)
		if saved != nil {
			got = len(saved.Values)
		}
		if err != nil || got != want {
			t.Errorf("%d values are stored of %d keys, %v; want %d", got, keys, err, want)
		}
		s := &snapshots{}
		if _, err := New(Options{Store: s}).readSnapshot(t.Context(), At{}, 1); err != nil || s.limit != 1000 {
			t.Errorf("%d records are read at once, %v; want 1000", s.limit, err)
		}
	}
}

func TestSizeOfAMessage(t *testing.T) {
	tests := []struct {
		name string
		m    core.Message
		want int
	}{
		{"nothing", core.Message{}, 256},
		{"id and model", core.Message{ID: "1", Model: "22"}, 259},
		{"blocks", core.Message{Content: []core.Block{{Text: "1", Echo: json.RawMessage("22"), Origin: "333"}, {Text: "4444"}}}, 256 + 2*80 + 10},
		{"calls", core.Message{ToolCalls: []core.ToolCall{{ID: "1", Name: "22", Arguments: json.RawMessage("333")}, {Echo: json.RawMessage("4444"), Origin: "55555"}}}, 256 + 2*64 + 15},
		{"a result", core.Message{ToolResult: &core.ToolResult{CallID: "1", Name: "22", Data: json.RawMessage("333"), Message: "4444"}}, 256 + 128 + 10},
	}
	for _, tt := range tests {
		if got := messageSize(tt.m); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
	if got := (&Conversation{size: 10}).bytes(); got != 1034 {
		t.Errorf("a conversation of 10 bytes has %d, want 1034", got)
	}
}
