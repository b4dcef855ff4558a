package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/model"
)

// What a turn's record says of the beginning of its request is compared by whichever build
// takes the next step, so that all of them come to the same numbers.
func TestBeginningOfARequestInThreeNumbers(t *testing.T) {
	tool := func(name, description, parameters string) model.ToolDefinition {
		return model.ToolDefinition{Name: name, Description: description, Parameters: json.RawMessage(parameters)}
	}
	message := func(role core.Role, text string) core.Message {
		return core.Message{ID: "not counted", Role: role, Content: []core.Block{{Type: core.BlockText, Text: text}}}
	}
	tests := []struct {
		name    string
		request model.Request
		before  []core.Message
		want    [3]uint32
	}{
		{"nothing", model.Request{}, nil, [3]uint32{}},
		{"less than eight bytes", model.Request{System: "1234567", Tools: []model.ToolDefinition{tool("echo", "", "")}},
			[]core.Message{message(core.RoleSystem, "hi")}, [3]uint32{2335341285, 2292296805, 1431880559}},
		{"eight bytes", model.Request{System: "12345678", Tools: []model.ToolDefinition{tool("", "says it", "")}},
			[]core.Message{message(core.RoleUser, "hi")}, [3]uint32{730430230, 2802534880, 2601291392}},
		{"bytes of all values", model.Request{System: "\x80\xff\x00\x01\x7f\xfe\xc3\xa9\x90", Tools: []model.ToolDefinition{tool("", "", `{"type":"object"}`)}},
			[]core.Message{message(core.RoleUser, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80")}, [3]uint32{112792374, 815021578, 3309108358}},
		{"many", model.Request{System: strings.Repeat("You help. ", 100), Tools: []model.ToolDefinition{tool("a", "b", "{}"), tool("c", "d", "{}")}},
			[]core.Message{message(core.RoleSystem, "one"), message(core.RoleUser, "two")}, [3]uint32{91285960, 1225731479, 868682625}},
		{"the same in another order", model.Request{System: "help. You ", Tools: []model.ToolDefinition{tool("c", "d", "{}"), tool("a", "b", "{}")}},
			[]core.Message{message(core.RoleUser, "two"), message(core.RoleSystem, "one")}, [3]uint32{3528700057, 4071426280, 4233725538}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &prompt{draft: &draft{past: &checkpoint.Conversation{}}, model: &registry.BoundModel{}, window: &core.Window{}, framed: true}
			p.marked(&tt.request, beside{before: tt.before})
			if diff := cmp.Diff(tt.want, p.window.Prefix); diff != "" {
				t.Errorf("tools, system prompt and context (-want +got):\n%s", diff)
			}
		})
	}
}
