package finalanswer_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/model"
)

var person = &model.ResponseFormat{Name: "person", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)}

func TestAnswersAreCheckedAgainstTheirForm(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"right", ` {"name":"Ada"} `, `<nil>`},
		{"empty", " \n", `answer is empty`},
		{"words", "Ada", `answer is not JSON: invalid character 'A' looking for beginning of value`},
		{"cut off", `{"name":`, `answer is not JSON: unexpected end of JSON input`},
		{"behind it more", `{"name":"Ada"} {}`, `answer is not JSON: invalid character '{' after top-level value`},
		{"a field too many", `{"name":"Ada","age":36}`, `property "answer.age" is unknown`},
		{"a list", `[]`, `property "answer": got array, want object`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := finalanswer.Check(person, test.text)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("error %s, want %s", got, test.want)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %s", core.CodeOf(err))
			}
		})
	}
}

func TestAnAnswerIsTheLastTextOfATurn(t *testing.T) {
	block := func(kind core.BlockType, text string) core.Block { return core.Block{Type: kind, Text: text} }
	tests := []struct {
		name   string
		blocks []core.Block
		want   string
	}{
		{"nothing", nil, ""},
		{"one", []core.Block{block(core.BlockText, "{}")}, "{}"},
		{"behind words", []core.Block{block(core.BlockText, "So:"), block(core.BlockText, "{}")}, "{}"},
		{"before blanks and thoughts", []core.Block{block(core.BlockText, "{}"), block(core.BlockText, "\n"), block(core.BlockReasoning, "hm")}, "{}"},
	}
	for _, test := range tests {
		if got := finalanswer.Of(&core.Message{Content: test.blocks}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
