package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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
		{"nothing", core.Message{}, 240},
		{"a turn", core.Message{Role: core.RoleAssistant}, 388},
		{"id and model", core.Message{ID: "12345", Model: "222"}, 249},
		{"blocks", core.Message{Content: []core.Block{{Text: "1", Echo: json.RawMessage("22"), Origin: "333"}, {Text: "4444"}}}, 587},
		{"calls", core.Message{ToolCalls: []core.ToolCall{{ID: "1", Name: "22", Arguments: json.RawMessage("333")}, {Echo: json.RawMessage("4444"), Origin: "55555"}}}, 480},
		{"a result", core.Message{ToolResult: &core.ToolResult{CallID: "1", Name: "22", Data: json.RawMessage("333"), Message: "4444"}}, 387},
		{"a file", core.Message{Content: []core.Block{{Data: make([]byte, 800)}}}, 1308},
		{"a citation", core.Message{Content: []core.Block{{Annotations: []core.Annotation{{URL: "1", Title: "22", Quote: "333"}}}}}, 574},
		{"a result with a file", core.Message{ToolResult: &core.ToolResult{Content: []core.Block{{Data: make([]byte, 800)}}}}, 1444},
		{"a long text", core.Message{Content: []core.Block{{Text: strings.Repeat("x", 8000)}}}, 9408},
	}
	for _, tt := range tests {
		if got := messageSize(&tt.m); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
	for want, c := range map[int]Conversation{
		1610: {size: 10}, 2507: {Record: &thread.RunRecord{Run: core.Run{Response: "123"}, Request: json.RawMessage("1234")}}, 1792: {changed: map[state.KeyPath]uint64{{Name: "a"}: 1, {Name: "b"}: 2}},
	} {
		if got := c.bytes(); got != want {
			t.Errorf("%+v has %d bytes, want %d", c, got, want)
		}
	}
}
