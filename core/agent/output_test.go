package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
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
			err := agent.CheckAnswer(person, test.text)
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
		if got := agent.AnswerOf(&core.Message{Content: test.blocks}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// The name of the tool that takes answers is taken where there is one.
func TestFinalAnswerIsNoToolsName(t *testing.T) {
	own := tool.New(tool.Spec{Name: agent.FinalAnswer, Description: "Mine."}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
	p := parts(agent.Spec{ID: "a", Model: "own", ResponseFormat: person})
	p.Tools = []tool.Tool{own}
	_, err := agent.NewRegistry(p)
	if want := `resolving agent "a": tool "final_answer" has the name of the one that takes the answer of response_format`; fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	p.Specs[0].ResponseFormat = nil
	free := registry(t, p)
	resolved, err := free.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	asked := &core.Frontend{Answer: &core.AnswerFormat{Name: "x", Schema: person.Schema}}
	if err := resolved.CheckFrontend(asked); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("an answer beside a tool of the name: %v", err)
	}
	asked.Tools = []core.FrontendTool{{Name: agent.FinalAnswer}}
	if err := resolve(t, parts(agent.Spec{ID: "a", Model: "own"}), "a").CheckFrontend(asked); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("a frontend's tool of the name: %v", err)
	}
}
