package thread_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// plainInput is an input with a value in every field that a plain one may have.
func plainInput() thread.Queued {
	return thread.Queued{
		Run: core.ID{1}, Dispatch: core.ID{2}, AgentID: "demo", Origin: core.OriginInternal, CreatedAt: 7, Supersede: 3, Retakes: core.ID{3},
		TakesUp: core.ID{4}, Resolution: "abc", Parent: &thread.Parent{Thread: "t", Run: core.ID{5}, Call: 1, ToolCall: "c", Listed: true, Detached: true, Root: core.ID{6}, Agents: []string{"a"}, MaxTokens: 1, Deadline: 2},
		Messages: []core.Message{{
			ID: "m", Role: core.RoleUser, RunID: core.ID{6}, Step: 2, Model: "m", Provider: "p", StopReason: core.StopOther, CreatedAt: 9,
			Repair: true, Pending: true, Decided: true,
			Content: []core.Block{{Type: core.BlockFile, Text: "<&>\u2028\"\x00", MediaType: "a/b", Data: []byte{1}, URL: "u", Filename: "f", Origin: "o"}},
		}},
	}
}

func TestPlainInputIsReadAsItWasWritten(t *testing.T) {
	message := func(change func(*core.Message)) func(*thread.Queued) {
		return func(q *thread.Queued) { change(&q.Messages[0]) }
	}
	block := func(change func(*core.Block)) func(*thread.Queued) {
		return func(q *thread.Queued) { change(&q.Messages[0].Content[0]) }
	}
	const bad = "\xff" // no UTF-8
	tests := []struct {
		name   string
		change func(*thread.Queued)
		plain  bool
	}{
		{"as it is", func(*thread.Queued) {}, true},
		{"no parent", func(q *thread.Queued) { q.Parent = nil }, true},
		{"no data", block(func(b *core.Block) { b.Data = nil }), true},
		{"two messages", func(q *thread.Queued) { q.Messages = append(q.Messages, q.Messages[0]) }, true},
		{"no messages", func(q *thread.Queued) { q.Messages = []core.Message{} }, true},
		{"nil messages", func(q *thread.Queued) { q.Messages = nil }, false},
		{"request", func(q *thread.Queued) { q.Request = json.RawMessage(`{"a": 1}`) }, false},
		{"frontend", func(q *thread.Queued) { q.Frontend = &core.Frontend{} }, false},
		{"unknown fields", func(q *thread.Queued) { q.Unknown = thread.Unknown{} }, false},
		{"agent", func(q *thread.Queued) { q.AgentID = bad }, false},
		{"origin", func(q *thread.Queued) { q.Origin = bad }, false},
		{"resolution", func(q *thread.Queued) { q.Resolution = bad }, false},
		{"parent's thread", func(q *thread.Queued) { q.Parent.Thread = bad }, false},
		{"parent's agent", func(q *thread.Queued) { q.Parent.Agents = []string{"a", bad} }, false},
		{"no agents of a parent", func(q *thread.Queued) { q.Parent.Agents = nil }, true},
		{"an empty list of agents", func(q *thread.Queued) { q.Parent.Agents = []string{} }, false},
		{"parent's call", func(q *thread.Queued) { q.Parent.ToolCall = bad }, false},
		{"id", message(func(m *core.Message) { m.ID = bad }), false},
		{"role", message(func(m *core.Message) { m.Role = bad }), false},
		{"model", message(func(m *core.Message) { m.Model = bad }), false},
		{"provider", message(func(m *core.Message) { m.Provider = bad }), false},
		{"stop reason", message(func(m *core.Message) { m.StopReason = bad }), false},
		{"no content", message(func(m *core.Message) { m.Content = []core.Block{} }), false},
		{"calls", message(func(m *core.Message) { m.ToolCalls = []core.ToolCall{} }), false},
		{"result", message(func(m *core.Message) { m.ToolResult = &core.ToolResult{} }), false},
		{"usage", message(func(m *core.Message) { m.Usage = &core.Usage{} }), false},
		{"block's type", block(func(b *core.Block) { b.Type = bad }), false},
		{"text", block(func(b *core.Block) { b.Text = bad }), false},
		{"media type", block(func(b *core.Block) { b.MediaType = bad }), false},
		{"URL", block(func(b *core.Block) { b.URL = bad }), false},
		{"file name", block(func(b *core.Block) { b.Filename = bad }), false},
		{"block's origin", block(func(b *core.Block) { b.Origin = bad }), false},
		{"echo", block(func(b *core.Block) { b.Echo = json.RawMessage("[1, 2]") }), false},
		{"annotations", block(func(b *core.Block) { b.Annotations = []core.Annotation{{}} }), false},
		{"empty data", block(func(b *core.Block) { b.Data = []byte{} }), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := plainInput()
			tt.change(&q)
			if got := q.Plain(); got != tt.plain {
				t.Errorf("Plain is %t, want %t", got, tt.plain)
			}
			payload, err := thread.Records{}.EncodeQueued(&q)
			if err != nil {
				t.Fatal(err)
			}
			read, err := thread.Records{}.DecodeQueued(payload)
			if err != nil {
				t.Fatal(err)
			}
			if q.Plain() && !reflect.DeepEqual(read, q) {
				t.Errorf("a plain input is read otherwise (-written +read):\n%s", cmp.Diff(q, read))
			}
		})
	}
}

// A field that is added to an input gets its place above, and in Plain.
func TestPlainInputHasEveryField(t *testing.T) {
	q := plainInput()
	zero := func(v reflect.Value) (names []string) {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() {
				names = append(names, name)
			}
		}
		return names
	}
	got := map[string][]string{"input": zero(reflect.ValueOf(q)), "message": zero(reflect.ValueOf(q.Messages[0])), "block": zero(reflect.ValueOf(q.Messages[0].Content[0]))}
	want := map[string][]string{"input": {"Request", "Frontend", "Unknown"}, "message": {"ToolCalls", "ToolResult", "Usage"}, "block": {"Echo", "Annotations"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields that a plain input leaves empty (-want +got):\n%s", diff)
	}
}
