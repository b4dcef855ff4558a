package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// Where context messages stand in a request: what lasts before the conversation, what is the
// step's alone behind it, in one message.
func TestWhereContextStands(t *testing.T) {
	id := core.ID{1}
	message := func(name string, role core.Role, text string) core.Message {
		return core.Message{ID: name, Role: role, RunID: id, Content: []core.Block{{Type: core.BlockText, Text: text}}}
	}
	tests := []struct {
		name    string
		system  string
		context []plugin.ContextMessage
		want    beside
		prompt  string
	}{
		{"nothing", "Be kind.", nil, beside{}, "Be kind."},
		{"what lasts", "Be kind.", []plugin.ContextMessage{
			{Key: "a", Text: "First.", Persistent: true}, {Key: "b", Text: "Second.", Persistent: true, Target: plugin.TargetSystem},
			{Key: "c", Text: "session", Persistent: true, Target: plugin.TargetSession},
			{Key: "d", Text: "talk", Persistent: true, Target: plugin.TargetConversation, Role: core.RoleUser},
		}, beside{before: []core.Message{message("context.c", core.RoleSystem, "session"), message("context.d", core.RoleUser, "talk")}}, "Be kind.\n\nFirst.\n\nSecond."},
		{"without a system prompt", "", []plugin.ContextMessage{{Text: "\n\nAs it is.", Persistent: true}}, beside{}, "\n\nAs it is."},
		{"of this step", "Be kind.", []plugin.ContextMessage{
			{Text: "a"}, {Text: "b", Target: plugin.TargetSession, Role: core.RoleUser}, {Text: "c", Target: plugin.TargetSuffix, Persistent: true},
		}, beside{behind: []core.Message{message("context.step", core.RoleSystem, "a\n\nb\n\nc")}}, "Be kind."},
		{"of one letter", "", []plugin.ContextMessage{{Text: "a"}}, beside{behind: []core.Message{message("context.step", core.RoleSystem, "a")}}, ""},
	}
	for _, tt := range tests {
		p := &prompt{holder: &holder{id: id}}
		request := model.Request{System: tt.system}
		if diff := cmp.Diff(tt.want, p.placed(&request, tt.context), cmp.AllowUnexported(beside{})); diff != "" || request.System != tt.prompt {
			t.Errorf("%s: the system prompt is %q, want %q; beside it (-want +got):\n%s", tt.name, request.System, tt.prompt, diff)
		}
	}
}

// What a frontend shows is one part of the system prompt, and none where it shows nothing.
func TestWhatAFrontendShows(t *testing.T) {
	tests := []struct {
		name     string
		frontend *core.Frontend
		want     []plugin.ContextMessage
	}{
		{"no frontend", nil, nil},
		{"nothing", &core.Frontend{}, nil},
		{"two things", &core.Frontend{Context: []core.FrontendContext{{Description: "the cart", Value: "empty"}, {Description: "the page", Value: "42"}}}, []plugin.ContextMessage{{
			Key: "frontend", Text: "What the user's application shows at present:\n\nthe cart:\nempty\n\nthe page:\n42", Target: plugin.TargetSystem, Persistent: true,
		}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, shownBy(tt.frontend)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
