package agent_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// base has a value in every field.
func base(t *testing.T) agent.Spec {
	t.Helper()
	s, err := agent.DecodeSpec([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func merge(t *testing.T, s agent.Spec, patch string) agent.Spec {
	t.Helper()
	p, err := agent.DecodePatch([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := agent.Merge(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func TestEachFieldOfAPatchIsAbsentNullOrAValue(t *testing.T) {
	tests := []struct {
		field, value string
		changed      func(*agent.Spec)
		cleared      func(*agent.Spec)
	}{
		{"description", `"e"`, func(s *agent.Spec) { s.Description = "e" }, func(s *agent.Spec) { s.Description = "" }},
		{"system_prompt", `"e"`, func(s *agent.Spec) { s.SystemPrompt = "e" }, func(s *agent.Spec) { s.SystemPrompt = "" }},
		{"model", `"e"`, func(s *agent.Spec) { s.Model = "e" }, nil},
		{"max_rounds", `7`, func(s *agent.Spec) { s.MaxRounds = new(7) }, func(s *agent.Spec) { s.MaxRounds = nil }},
		{"stop", `[{"type":"max_rounds","rounds":7}]`, func(s *agent.Spec) { s.Stop = []agent.StopSpec{{Type: "max_rounds", Rounds: 7}} }, func(s *agent.Spec) { s.Stop = nil }},
		{"max_repairs", `7`, func(s *agent.Spec) { s.MaxRepairs = new(7) }, func(s *agent.Spec) { s.MaxRepairs = nil }},
		{"max_continuations", `7`, func(s *agent.Spec) { s.MaxContinuations = new(7) }, func(s *agent.Spec) { s.MaxContinuations = nil }},
		{"retry", `{"max_retries":7}`, func(s *agent.Spec) { s.Retry = agent.Retry{MaxRetries: new(7)} }, func(s *agent.Spec) { s.Retry = agent.Retry{} }},
		{"max_tokens", `7`, func(s *agent.Spec) { s.MaxTokens = 7 }, func(s *agent.Spec) { s.MaxTokens = 0 }},
		{"temperature", `0`, func(s *agent.Spec) { s.Temperature = new(0.0) }, func(s *agent.Spec) { s.Temperature = nil }},
		{"top_p", `0`, func(s *agent.Spec) { s.TopP = new(0.0) }, func(s *agent.Spec) { s.TopP = nil }},
		{"stop_sequences", `["e"]`, func(s *agent.Spec) { s.StopSequences = []string{"e"} }, func(s *agent.Spec) { s.StopSequences = nil }},
		{"reasoning_effort", `"low"`, func(s *agent.Spec) { s.ReasoningEffort = model.EffortLow }, func(s *agent.Spec) { s.ReasoningEffort = "" }},
		{"response_format", `{"name":"e","schema":{}}`,
			func(s *agent.Spec) {
				s.ResponseFormat = &model.ResponseFormat{Name: "e", Schema: json.RawMessage("{}")}
			}, func(s *agent.Spec) { s.ResponseFormat = nil }},
		{"tool_choice", `{"mode":"none"}`, func(s *agent.Spec) { s.ToolChoice = model.ToolChoice{Mode: model.ToolNone} }, func(s *agent.Spec) { s.ToolChoice = model.ToolChoice{} }},
		{"events", `"commits"`, func(s *agent.Spec) { s.Events = agent.EventsCommits }, func(s *agent.Spec) { s.Events = "" }},
		{"execution_mode", `"sequential"`, func(s *agent.Spec) { s.ExecutionMode = agent.Sequential }, func(s *agent.Spec) { s.ExecutionMode = "" }},
		{"context", `{"min_recent_messages":7}`,
			func(s *agent.Spec) { s.Context = &agent.ContextWindowPolicy{MinRecentMessages: new(7)} }, func(s *agent.Spec) { s.Context = nil }},
		{"plugins", `["e"]`, func(s *agent.Spec) { s.Plugins = []string{"e"} }, func(s *agent.Spec) { s.Plugins = nil }},
		{"active_hook_filter", `["e"]`, func(s *agent.Spec) { s.ActiveHookFilter = []string{"e"} }, func(s *agent.Spec) { s.ActiveHookFilter = nil }},
		{"allowed_tools", `["e"]`, func(s *agent.Spec) { s.AllowedTools = []string{"e"} }, func(s *agent.Spec) { s.AllowedTools = nil }},
		{"allowed_tool_patterns", `["e"]`, func(s *agent.Spec) { s.AllowedToolPatterns = []string{"e"} }, func(s *agent.Spec) { s.AllowedToolPatterns = nil }},
		{"excluded_tools", `["e"]`, func(s *agent.Spec) { s.ExcludedTools = []string{"e"} }, func(s *agent.Spec) { s.ExcludedTools = nil }},
		{"excluded_tool_patterns", `["e"]`, func(s *agent.Spec) { s.ExcludedToolPatterns = []string{"e"} }, func(s *agent.Spec) { s.ExcludedToolPatterns = nil }},
		{"delegates", `["e"]`, func(s *agent.Spec) { s.Delegates = []string{"e"} }, func(s *agent.Spec) { s.Delegates = nil }},
		{"hidden", `false`, func(s *agent.Spec) { s.Hidden = false }, func(s *agent.Spec) { s.Hidden = false }},
		{"exposed_tools", `["e"]`, func(s *agent.Spec) { s.ExposedTools = []string{"e"} }, func(s *agent.Spec) { s.ExposedTools = nil }},
		{"sections", `{"e":1}`, func(s *agent.Spec) { s.Sections["e"] = json.RawMessage("1") }, func(s *agent.Spec) { s.Sections = nil }},
		{"provider_options", `{"e":{}}`, func(s *agent.Spec) { s.ProviderOptions["e"] = json.RawMessage("{}") }, func(s *agent.Spec) { s.ProviderOptions = nil }},
		{"strict", `false`, func(s *agent.Spec) { s.Strict = false }, func(s *agent.Spec) { s.Strict = false }},
	}
	for _, test := range tests {
		t.Run(test.field, func(t *testing.T) {
			want := base(t)
			test.changed(&want)
			if diff := cmp.Diff(want, merge(t, base(t), `{"`+test.field+`":`+test.value+`}`)); diff != "" {
				t.Errorf("a value:\n%s", diff)
			}
			if test.cleared == nil {
				return
			}
			want = base(t)
			test.cleared(&want)
			if diff := cmp.Diff(want, merge(t, base(t), `{"`+test.field+`":null}`)); diff != "" {
				t.Errorf("null:\n%s", diff)
			}
		})
	}
	if n := reflect.TypeFor[agent.Patch]().NumField(); len(tests) != n {
		t.Errorf("%d fields are tested, a patch has %d", len(tests), n)
	}
	if diff := cmp.Diff(fieldsOf(reflect.TypeFor[agent.Spec]())[1:], fieldsOf(reflect.TypeFor[agent.Patch]())); diff != "" {
		t.Errorf("a patch has other fields than a spec but the id:\n%s", diff)
	}
	if diff := cmp.Diff(base(t), merge(t, base(t), `{}`)); diff != "" {
		t.Errorf("nothing:\n%s", diff)
	}
}

func fieldsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestSectionsAreMergedByName(t *testing.T) {
	const base = `{"id":"a","model":"m","sections":{"x":{"k":1},"y":2}}`
	tests := []struct {
		name, patch string
		want        map[string]json.RawMessage
	}{
		{"one replaced as a whole", `{"sections":{"x":{"l":2}}}`, map[string]json.RawMessage{"x": json.RawMessage(`{"l":2}`), "y": json.RawMessage(`2`)}},
		{"one added", `{"sections":{"z":[ 3 ]}}`, map[string]json.RawMessage{"x": json.RawMessage(`{"k":1}`), "y": json.RawMessage(`2`), "z": json.RawMessage(`[3]`)}},
		{"one removed", `{"sections":{"x":null}}`, map[string]json.RawMessage{"y": json.RawMessage(`2`)}},
		{"one removed that is none", `{"sections":{"z":null}}`, map[string]json.RawMessage{"x": json.RawMessage(`{"k":1}`), "y": json.RawMessage(`2`)}},
		{"all removed", `{"sections":{"x":null,"y":null}}`, nil},
		{"none", `{"sections":{}}`, map[string]json.RawMessage{"x": json.RawMessage(`{"k":1}`), "y": json.RawMessage(`2`)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := agent.DecodeSpec([]byte(base))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, merge(t, s, test.patch).Sections); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"x", "y"}, s.SectionNames()); diff != "" {
				t.Errorf("the base has changed:\n%s", diff)
			}
		})
	}
}

// An absent catalog allows all in a spec; null in a patch never makes it absent again.
func TestClearingTheCatalogAllowsNoTool(t *testing.T) {
	all := []string{"drop", "read", "write"}
	tests := []struct {
		name, spec, patch string
		want              []string
	}{
		{"nothing on nothing", `{}`, `{}`, all},
		{"both null on nothing", `{}`, `{"allowed_tools":null,"allowed_tool_patterns":null}`, nil},
		{"patterns null on nothing", `{}`, `{"allowed_tool_patterns":null}`, nil},
		{"names null on nothing", `{}`, `{"allowed_tools":null}`, all},
		{"names on nothing", `{}`, `{"allowed_tools":["read"]}`, []string{"read"}},
		{"no names on nothing", `{}`, `{"allowed_tools":[]}`, nil},
		{"names null on names", `{"allowed_tools":["read"]}`, `{"allowed_tools":null}`, nil},
		{"names null on both", `{"allowed_tools":["read"],"allowed_tool_patterns":["w*"]}`, `{"allowed_tools":null}`, []string{"write"}},
		{"patterns null on both", `{"allowed_tools":["read"],"allowed_tool_patterns":["w*"]}`, `{"allowed_tool_patterns":null}`, []string{"read"}},
		{"both null on all", `{"allowed_tool_patterns":["*"]}`, `{"allowed_tools":null,"allowed_tool_patterns":null}`, nil},
		{"names on all", `{"allowed_tool_patterns":["*"]}`, `{"allowed_tools":["read"]}`, all},
		{"all on none", `{"allowed_tools":[]}`, `{"allowed_tool_patterns":["*"]}`, all},
		{"an exclusion on nothing", `{}`, `{"excluded_tools":["drop"]}`, []string{"read", "write"}},
		{"exclusions null", `{"excluded_tools":["drop"],"excluded_tool_patterns":["w*"]}`, `{"excluded_tools":null,"excluded_tool_patterns":null}`, all},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			merged := merge(t, decoded(t, test.spec), test.patch)
			if diff := cmp.Diff(test.want, toolNames(resolve(t, parts(merged), "a"))); diff != "" {
				t.Error(diff)
			}
		})
	}
	merged, err := agent.Merge(decoded(t, `{}`), agent.Patch{AllowedTools: agent.Set[[]string](nil)})
	if err != nil || merged.AllowedTools == nil {
		t.Errorf("a list without names allows %v, %v, want none", merged.AllowedTools, err)
	}
}

func TestPatchesThatAreNone(t *testing.T) {
	tests := []struct{ name, patch, want string }{
		{"an unknown field", `{"max_round":3}`, `agent patch: unknown field "max_round", did you mean "max_rounds"?`},
		{"an unknown field further in", `{"context":{"max_context_token":3}}`, `agent patch: unknown field "max_context_token" in context, did you mean "max_context_tokens"?`},
		{"the id", `{"id":"b"}`, `agent patch: unknown field "id", allowed are description, system_prompt, model, max_rounds, stop, max_continuations, max_repairs, retry, max_tokens, temperature, top_p, stop_sequences, reasoning_effort, response_format, tool_choice, provider_options, execution_mode, events, context, plugins, active_hook_filter, allowed_tools, allowed_tool_patterns, excluded_tools, excluded_tool_patterns, delegates, hidden, exposed_tools, sections, strict, active_plugins`},
		{"no model", `{"model":null}`, `agent patch: model is null, an agent has one`},
		{"a wrong type", `{"max_rounds":"3"}`, `agent patch: max_rounds is "3", want a whole number`},
		{"a wrong type in a list", `{"plugins":["a",3]}`, `agent patch: plugins[1] is 3, want a string`},
		{"a field twice", `{"strict":true,"strict":null}`, `agent patch: strict is given twice`},
		{"a field and its other name", `{"active_plugins":null,"active_hook_filter":[]}`, `agent patch: active_plugins is another name of active_hook_filter, give one of them`},
		{"no object", `[]`, `agent patch: value is a list, want an object`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := agent.DecodePatch([]byte(test.patch))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q", core.CodeOf(err))
			}
		})
	}
	p, err := agent.DecodePatch([]byte(`{"active_plugins":["x"]}`))
	if value, ok := p.ActiveHookFilter.Value(); err != nil || !ok || len(value) != 1 {
		t.Errorf("active_plugins is read as %v, %v", value, err)
	}
}

func TestMergeChecksWhatItMade(t *testing.T) {
	tests := []struct {
		name  string
		patch agent.Patch
		want  string
	}{
		{"out of range", agent.Patch{MaxRounds: agent.Set(-1)}, `agent "a": max_rounds is -1, want 0 (no limit) or more`},
		{"an empty model", agent.Patch{Model: agent.Set("")}, `agent "a": model is empty`},
		{"a model that is null", agent.Patch{Model: agent.Clear[string]()}, `agent "a": model is empty`},
		{"a section that is no JSON", agent.Patch{Sections: agent.Set(map[string]json.RawMessage{"s": nil})}, `agent "a": sections.s is , want a JSON value that is not null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := agent.Merge(base(t), test.patch)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of two patches the later one counts field by field: merged one after the other
// they are what both say together.
func TestPatchesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := patches(t, "first"), patches(t, "second")
		start := agent.Spec{ID: "a", Model: "m", Sections: map[string]json.RawMessage{"x": json.RawMessage("0")}}
		once, err := agent.Merge(start, first)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := agent.Merge(once, second)
		if err != nil {
			t.Fatal(err)
		}
		again, err := agent.Merge(twice, second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(twice, again); diff != "" {
			t.Errorf("a patch that is merged again changes something:\n%s", diff)
		}
		if n, ok := second.MaxRounds.Value(); ok && *twice.MaxRounds != n {
			t.Errorf("max_rounds %d, want %d", *twice.MaxRounds, n)
		}
		if !second.MaxRounds.Null() && second.MaxRounds.IsZero() && !reflect.DeepEqual(once.MaxRounds, twice.MaxRounds) {
			t.Error("an absent field changes the base's")
		}
		if n := len(start.Sections); n != 1 || string(start.Sections["x"]) != "0" {
			t.Error("merging changes the base")
		}
	})
}

func patches(t *rapid.T, name string) agent.Patch {
	var p agent.Patch
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3, rapid.ID)
	for i, say := range []func(null bool){
		func(null bool) {
			p.MaxRounds = agent.Clear[int]()
			if !null {
				p.MaxRounds = agent.Set(rapid.IntRange(0, 5).Draw(t, name))
			}
		},
		func(null bool) {
			p.AllowedTools = agent.Clear[[]string]()
			if !null {
				p.AllowedTools = agent.Set(names.Draw(t, name))
			}
		},
		func(null bool) {
			p.AllowedToolPatterns = agent.Clear[[]string]()
			if !null {
				p.AllowedToolPatterns = agent.Set(names.Draw(t, name))
			}
		},
		func(null bool) {
			p.Sections = agent.Set(map[string]json.RawMessage{"x": json.RawMessage(map[bool]string{true: "null", false: "1"}[null])})
		},
	} {
		switch rapid.IntRange(0, 2).Draw(t, fmt.Sprint(name, i)) {
		case 1:
			say(true)
		case 2:
			say(false)
		}
	}
	return p
}

func FuzzDecodePatch(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"max_rounds":null,"sections":{"greeting":null,"x":{"y":"<"}},"allowed_tools":[],"reasoning_effort":{"budget":5}}`))
	f.Add([]byte(`{"active_plugins":["x"],"context":{},"response_format":{"name":"n","schema":{}},"model":"n"}`))
	f.Add([]byte(`{"id":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := agent.DecodePatch(data)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			return
		}
		encoded, err := core.EncodeJSON(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := agent.DecodePatch(encoded)
		if err != nil {
			t.Fatalf("%s does not decode again: %v", encoded, err)
		}
		merged, err := agent.Merge(agent.Spec{ID: "a", Model: "m"}, p)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			return
		}
		same(t, merged)
		remerged, err := agent.Merge(agent.Spec{ID: "a", Model: "m"}, again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(merged, remerged); diff != "" {
			t.Errorf("%s is another patch:\n%s", encoded, diff)
		}
	})
}
