package demo_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

func TestTheDemoAgentIsTheDefault(t *testing.T) {
	parts, err := demo.Parts(map[string]agent.ModelBinding{"default": {Model: model.None{}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := host.New(host.Options{Agents: parts})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.DefaultAgent(); got != "demo" {
		t.Errorf("default agent %q, want demo", got)
	}
}

// named returns the agent's tool of that name.
func named(t *testing.T, name string) tool.Tool {
	t.Helper()
	parts, err := demo.Parts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range parts.Tools {
		if one.Spec().Name == name {
			return one
		}
	}
	t.Fatalf("the agent has no tool %s", name)
	return nil
}

func TestEcho(t *testing.T) {
	echo := named(t, "echo")
	tests := []struct {
		name, arguments, data, message string
		failed                         bool
	}{
		{"says the text back", `{"text":"a <b> \"c\""}`, `{"text":"a <b> \"c\""}`, "", false},
		{"wants a text", `{}`, ``, `invalid arguments: property "text" is missing`, true},
		{"takes no other key", `{"text":"a","loud":true}`, ``, `invalid arguments: property "loud" is unknown`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := reveilletest.RunTool(t, echo, json.RawMessage(test.arguments))
			if string(got.Data) != test.data || got.Message != test.message || got.IsError != test.failed {
				t.Errorf("data %s, message %q, failed %v", got.Data, got.Message, got.IsError)
			}
		})
	}
}
