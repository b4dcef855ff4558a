package agent_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

const full = `{"id":"a","description":"d","system_prompt":"p","model":"m","max_rounds":0,"max_tokens":100,"temperature":0.5,` +
	`"plugins":["x","y"],"active_hook_filter":["x"],"allowed_tools":[],"excluded_tools":["t"]}`

func TestDecodeSpecReadsEveryField(t *testing.T) {
	got, err := agent.DecodeSpec([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Spec{
		ID: "a", Description: "d", SystemPrompt: "p", Model: "m", MaxRounds: new(0), MaxTokens: 100, Temperature: new(0.5),
		Plugins: []string{"x", "y"}, ActiveHookFilter: []string{"x"}, AllowedTools: []string{}, ExcludedTools: []string{"t"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeSpecRefuses(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"an unknown field", `{"id":"a","model":"m","max_round":3}`, `agent spec: unknown field "max_round", did you mean "max_rounds"?`},
		{"a wrong type", `{"id":"a","model":5}`, `agent spec: model is 5, want a string`},
		{"something behind it", `{"id":"a","model":"m"} {}`, `agent spec: more than one JSON value`},
		{"nothing", ``, `agent spec: there is nothing to decode`},
		{"no id", `{"model":"m"}`, `agent id is empty`},
		{"a bad id", `{"id":"a#b","model":"m"}`, `agent id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"no model", `{"id":"a"}`, `agent "a": model is empty`},
		{"negative rounds", `{"id":"a","model":"m","max_rounds":-1}`, `agent "a": max_rounds is -1, want 0 (no limit) or more`},
		{"a negative temperature", `{"id":"a","model":"m","temperature":-0.1}`, `agent "a": temperature is -0.1, want 0 or more`},
		{"a plugin twice", `{"id":"a","model":"m","plugins":["x","x"]}`, `agent "a": plugins names "x" twice`},
		{"an empty tool", `{"id":"a","model":"m","excluded_tools":[""]}`, `agent "a": excluded_tools has an empty name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := agent.DecodeSpec([]byte(test.spec))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q, want invalid", core.CodeOf(err))
			}
		})
	}
}

func TestCheckRefusesTemperaturesThatAreNoNumber(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if err := (agent.Spec{ID: "a", Model: "m", Temperature: &bad}).Check(); err == nil {
			t.Errorf("%v passes", bad)
		}
	}
}

func TestRoundsDefaultToSixteen(t *testing.T) {
	tests := []struct {
		name string
		max  *int
		want int
	}{
		{"nothing said", nil, 16},
		{"no limit", new(0), 0},
		{"a limit", new(3), 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (agent.Spec{MaxRounds: test.max}).Rounds(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func FuzzDecodeSpec(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"id":"a","model":"m","allowed_tools":null}`))
	f.Add([]byte(`{"id":"a","model":"m","x":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := agent.DecodeSpec(data)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			return
		}
		encoded, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := agent.DecodeSpec(encoded)
		if err != nil {
			t.Fatalf("%s does not decode again: %v", encoded, err)
		}
		reencoded, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(encoded), string(reencoded)); diff != "" {
			t.Error(diff)
		}
	})
}
