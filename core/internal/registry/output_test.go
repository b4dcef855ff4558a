package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

var person = &model.ResponseFormat{Name: "person", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)}

// The name of the tool that takes answers is taken where there is one.
func TestFinalAnswerIsNoToolsName(t *testing.T) {
	own := tool.New(tool.Spec{Name: finalanswer.Tool, Description: "Mine."}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
	p := parts(agent.Spec{ID: "a", Model: "own", ResponseFormat: person})
	p.Tools = []tool.Tool{own}
	_, err := registry.New(p)
	if want := `resolving agent "a": tool "final_answer" has the name of the one that takes the answer of response_format`; fmt.Sprint(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	p.Specs[0].ResponseFormat = nil
	free := built(t, p)
	resolved, err := free.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	asked := &core.Frontend{Answer: &core.AnswerFormat{Name: "x", Schema: person.Schema}}
	if err := resolved.CheckFrontend(asked); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("an answer beside a tool of the name: %v", err)
	}
	asked.Tools = []core.FrontendTool{{Name: finalanswer.Tool}}
	if err := resolve(t, parts(agent.Spec{ID: "a", Model: "own"}), "a").CheckFrontend(asked); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("a frontend's tool of the name: %v", err)
	}
}
