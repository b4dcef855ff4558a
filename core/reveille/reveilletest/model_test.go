package reveilletest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// Two calls side by side, then an answer.
func ExampleScript() {
	find := reveille.NewTool(reveille.ToolSpec{Name: "find", ReadOnly: true}, func(_ context.Context, _ reveille.Call, a struct {
		What string `json:"what"`
	}) (string, error) {
		return a.What + " is there", nil
	})
	m := reveilletest.Script(
		reveilletest.Turn{Calls: []reveille.ToolCall{
			reveilletest.Call("find", map[string]string{"what": "soup"}), reveilletest.Call("find", map[string]string{"what": "bread"}),
		}},
		reveilletest.Turn{Text: "Both are there."},
	)
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{ID: "cook", Model: "m"}}, Models: reveille.Models{"m": {Model: m}}, Tools: []reveille.Tool{find},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "What do we have?"})
	for _, m := range result.Messages {
		fmt.Println(strings.TrimSpace(string(m.Role) + " " + m.Text()))
	}
	fmt.Println(err)
	// Output:
	// user What do we have?
	// assistant
	// tool "soup is there"
	// tool "bread is there"
	// assistant Both are there.
	// <nil>
}

func TestAToolByItself(t *testing.T) {
	greet := reveille.NewTool(reveille.ToolSpec{Name: "greet"}, func(_ context.Context, call reveille.Call, a struct {
		Name string `json:"name"`
	}) (string, error) {
		switch a.Name {
		case "panic":
			panic("oops")
		case "error":
			return "", errors.New("no such person")
		}
		return "Hello " + a.Name + " " + call.Key(), nil
	})
	for _, tt := range []struct {
		args any
		want string
	}{
		{map[string]string{"name": "Ann"}, `"Hello Ann run/1/0"`},
		{map[string]string{"name": "error"}, "execution failed: no such person"},
		{map[string]string{"name": "panic"}, "execution failed: the tool panicked"},
		{nil, `invalid arguments: property "name" is missing`},
	} {
		if got := reveilletest.RunTool(t, greet, tt.args); got.Text() != tt.want {
			t.Errorf("%v: %q, want %q", tt.args, got.Text(), tt.want)
		}
	}
}
