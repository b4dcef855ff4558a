package typed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// Nothing was read before the first answer, an empty one too.
func TestTheFirstAnswerIsRead(t *testing.T) {
	var r reading[struct{}]
	if _, err := r.of(""); err == nil {
		t.Error("an empty answer is one")
	}
	if _, err := r.of("{}"); err != nil {
		t.Error(err)
	}
}

// An answer may have parts that are any JSON, and none that are no JSON.
func TestTheFormOfAnAnswer(t *testing.T) {
	format, err := Format[struct {
		Any json.RawMessage `json:"any"`
	}]()
	if want := `{"type":"object","properties":{"any":true},"required":["any"],"additionalProperties":false}`; err != nil || string(format.Schema) != want {
		t.Errorf("%s, %v", format.Schema, err)
	}
	if _, err := Format[struct{ F func() }](); core.CodeOf(err) != core.CodeInvalid || !strings.HasPrefix(err.Error(), "answers of type struct { F func() }: ") {
		t.Error(err)
	}
}

// The answer is what the last turn says, be it the first message.
func TestTheAnswerOfARun(t *testing.T) {
	turn, asked := core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "42"}}}, core.UserMessage("hm?")
	for want, messages := range map[string][]core.Message{"42": {turn, asked}, "": {asked}} {
		if got := answerOf(host.Result{Messages: messages}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := answerOf(host.Result{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
