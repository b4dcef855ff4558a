package core_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestTheTextOfAResult(t *testing.T) {
	text := func(text string) core.Block { return core.Block{Type: core.BlockText, Text: text} }
	file := core.Block{Type: core.BlockFile, Text: "no text", MediaType: "image/png", Data: []byte("x")}
	for _, tt := range []struct {
		name   string
		result core.ToolResult
		want   string
	}{
		{"nothing", core.ToolResult{}, ""},
		{"data", core.ToolResult{Data: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		{"a message, which counts before data", core.ToolResult{Data: json.RawMessage(`{"a":1}`), Message: "one"}, "one"},
		{"texts after data", core.ToolResult{Data: json.RawMessage(`1`), Content: []core.Block{text("two"), text("three")}}, "1\ntwo\nthree"},
		{"texts alone, of which one is empty", core.ToolResult{Content: []core.Block{text("two"), text(""), text("three")}}, "two\nthree"},
		{"files have no text", core.ToolResult{Message: "one", Content: []core.Block{file, text("two"), file}}, "one\ntwo"},
	} {
		if got := tt.result.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
