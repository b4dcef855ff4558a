package spectext_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/internal/spectext"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/model"
)

const full = `{"id":"a","description":"d","system_prompt":"<p> & q","model":"m","max_rounds":0,"stop":[{"type":"timeout","seconds":30}],"max_continuations":3,"max_repairs":4,` +
	`"retry":{"max_retries":1,"backoff_base_ms":0,"overloaded_backoff_base_ms":100,"stream_idle_timeout_ms":5000,"patience_ms":1000},` +
	`"max_tokens":100,"temperature":0.5,"top_p":0.9,"stop_sequences":["END"],"reasoning_effort":{"budget":2048},` +
	`"response_format":{"name":"reply","schema":{"type":"object","properties":{"z":{},"a":{"const":"<&>"}}},"strict":true},` +
	`"tool_choice":{"mode":"tool","name":"t2"},"provider_options":{"groq":{"service_tier":"flex"}},"execution_mode":"parallel_streaming","events":"live",` +
	`"context":{"max_context_tokens":1000,"max_output_tokens":100,"min_recent_messages":0,"enable_prompt_cache":false,` +
	`"autocompact_threshold":800,"compaction":"inline","compaction_mode":"compact_to_safe_frontier","compaction_raw_suffix_messages":1,` +
	`"summary_max_tokens":500,"min_savings_ratio":0.5},` +
	`"plugins":["x","y"],"active_hook_filter":["x"],"allowed_tools":["t2"],"allowed_tool_patterns":["mcp*"],"excluded_tools":["t"],` +
	`"excluded_tool_patterns":["*_x"],"delegates":["b"],"hidden":true,"exposed_tools":["t2"],"sections":{"greeting":{"b":1.50,"a":"<"}},"strict":true}`

func TestDecodeSpecReadsEveryField(t *testing.T) {
	got, err := spectext.DecodeSpec([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Spec{
		ID: "a", Description: "d", SystemPrompt: "<p> & q", Model: "m", MaxRounds: new(0), Stop: []agent.StopSpec{{Type: "timeout", Seconds: 30}}, MaxContinuations: new(3), MaxRepairs: new(4),
		Retry:     agent.Retry{MaxRetries: new(1), BackoffBaseMS: new(0), OverloadedBackoffBaseMS: new(100), StreamIdleTimeoutMS: new(5000), PatienceMS: new(1000)},
		MaxTokens: 100, Temperature: new(0.5), TopP: new(0.9), StopSequences: []string{"END"}, ReasoningEffort: model.EffortBudget(2048),
		ResponseFormat: &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{"const":"<&>"}}}`), Strict: true},
		ToolChoice:     model.ToolChoice{Mode: model.ToolNamed, Name: "t2"}, ProviderOptions: map[string]json.RawMessage{"groq": json.RawMessage(`{"service_tier":"flex"}`)}, ExecutionMode: agent.ParallelStreaming, Events: agent.EventsLive,
		Context: &agent.ContextWindowPolicy{MaxContextTokens: 1000, MaxOutputTokens: 100, MinRecentMessages: new(0), EnablePromptCache: new(false),
			AutocompactThreshold: 800, Compaction: agent.CompactInline, CompactionMode: "compact_to_safe_frontier", CompactionRawSuffixMessages: new(1),
			SummaryMaxTokens: 500, MinSavingsRatio: new(0.5)},
		Plugins: []string{"x", "y"}, ActiveHookFilter: []string{"x"}, AllowedTools: []string{"t2"}, AllowedToolPatterns: []string{"mcp*"},
		ExcludedTools: []string{"t"}, ExcludedToolPatterns: []string{"*_x"}, Delegates: []string{"b"}, Hidden: true, ExposedTools: []string{"t2"},
		Sections: map[string]json.RawMessage{"greeting": json.RawMessage(`{"b":1.50,"a":"<"}`)}, Strict: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, err := core.EncodeJSON(got.Normal())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, string(again)); diff != "" {
		t.Error(diff)
	}
	for i := range reflect.TypeFor[agent.Spec]().NumField() {
		if reflect.ValueOf(got).Field(i).IsZero() {
			t.Errorf("the test leaves %s out", reflect.TypeFor[agent.Spec]().Field(i).Name)
		}
	}
}

// What the standard encoder escapes otherwise, and what a person wrote with spaces
// or under a field's other name, is the same spec.
func TestDecodeSpecHasOneFormForWhatMeansTheSame(t *testing.T) {
	decode := func(text string) agent.Spec {
		t.Helper()
		s, err := spectext.DecodeSpec([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	escaped, err := json.Marshal(decode(full))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, text, same string }{
		{"escaped otherwise", string(escaped), full},
		{"spaces in a section", `{"id":"a","model":"m","sections":{"s":{ "k" : [ 1, {"x":"\u003c", "y":[]}, "\/" ] , "n":null}}}`, `{"id":"a","model":"m","sections":{"s":{"k":[1,{"x":"<","y":[]},"/"],"n":null}}}`},
		{"spaces in a provider's options", `{"id":"a","model":"m","provider_options":{"p":{ "k" : "\u003c" }}}`, `{"id":"a","model":"m","provider_options":{"p":{"k":"<"}}}`},
		{"empty lists", `{"id":"a","model":"m","plugins":[],"provider_options":{},"excluded_tools":[],"sections":{},"delegates":null,"retry":{}}`, `{"id":"a","model":"m"}`},
		{"no tools", `{"id":"a","model":"m","allowed_tools":null,"allowed_tool_patterns":[]}`, `{"id":"a","model":"m","allowed_tools":[]}`},
		{"an empty list beside patterns", `{"id":"a","model":"m","allowed_tools":[],"allowed_tool_patterns":["*"]}`, `{"id":"a","model":"m","allowed_tool_patterns":["*"]}`},
		{"active_plugins", `{"id":"a","model":"m","active_plugins":["x"]}`, `{"id":"a","model":"m","active_hook_filter":["x"]}`},
		{"effort in words", `{"id":"a","model":"m","reasoning_effort":"high"}`, `{"id":"a","model":"m","reasoning_effort":"high"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(decode(test.same), decode(test.text)); diff != "" {
				t.Error(diff)
			}
			text, err := core.EncodeJSON(decode(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.same, string(text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeSpecRefuses(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"an unknown field", `{"id":"a","model":"m","max_round":3}`, `agent spec: unknown field "max_round", did you mean "max_rounds"?`},
		{"a wrong type", `{"id":"a","model":5}`, `agent spec: model is 5, want a string`},
		{"something behind it", `{"id":"a","model":"m"} {}`, `agent spec: value is not JSON at byte 24: invalid character '{' after top-level value`},
		{"nothing", ``, `agent spec: value is empty, want an object`},
		{"no id", `{"model":"m"}`, `agent id is empty`},
		{"a bad id", `{"id":"a#b","model":"m"}`, `agent id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"no model", `{"id":"a"}`, `agent "a": model is empty`},
		{"a field further in", `{"id":"a","model":"m","retry":{"max_retry":3}}`, `agent spec: unknown field "max_retry" in retry, did you mean "max_retries"?`},
		{"a field twice", `{"id":"a","model":"m","model":"n"}`, `agent spec: model is given twice`},
		{"a field and its other name", `{"id":"a","model":"m","active_plugins":[],"active_hook_filter":[]}`, `agent "a": active_plugins is another name of active_hook_filter, give one of them`},
		{"too many continuations", `{"id":"a","model":"m","max_continuations":21}`, `agent "a": max_continuations is 21, allowed are 0 to 20`},
		{"too many repairs", `{"id":"a","model":"m","max_repairs":11}`, `agent "a": max_repairs is 11, allowed are 0 to 10`},
		{"negative continuations", `{"id":"a","model":"m","max_continuations":-1}`, `agent "a": max_continuations is -1, allowed are 0 to 20`},
		{"too many retries", `{"id":"a","model":"m","retry":{"max_retries":21}}`, `agent "a": retry.max_retries is 21, allowed are 0 to 20`},
		{"too long a backoff", `{"id":"a","model":"m","retry":{"backoff_base_ms":60001}}`, `agent "a": retry.backoff_base_ms is 60001, allowed are 0 to 60000`},
		{"a backoff that no duration holds", `{"id":"a","model":"m","retry":{"overloaded_backoff_base_ms":18446744073709551}}`, `agent "a": retry.overloaded_backoff_base_ms is 18446744073709551, allowed are 0 to 60000`},
		{"more patience than a day", `{"id":"a","model":"m","retry":{"patience_ms":86400001}}`, `agent "a": retry.patience_ms is 86400001, allowed are 0 to 86400000`},
		{"a patience below zero", `{"id":"a","model":"m","retry":{"patience_ms":-1}}`, `agent "a": retry.patience_ms is -1, allowed are 0 to 86400000`},
		{"no patience with a stream", `{"id":"a","model":"m","retry":{"stream_idle_timeout_ms":999}}`, `agent "a": retry.stream_idle_timeout_ms is 999, allowed are 1000 to 600000`},
		{"negative tokens", `{"id":"a","model":"m","max_tokens":-1}`, `agent "a": max_tokens is -1, want 0 (the provider's default) or more`},
		{"too large a top_p", `{"id":"a","model":"m","top_p":1.5}`, `agent "a": top_p is 1.5, allowed are 0 to 1`},
		{"too many stop sequences", `{"id":"a","model":"m","stop_sequences":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]}`, `agent "a": stop_sequences has 17 texts, at most 16 are allowed`},
		{"an empty stop sequence", `{"id":"a","model":"m","stop_sequences":["x",""]}`, `agent "a": stop_sequences[1] has 0 bytes, allowed are 1 to 256`},
		{"no such effort", `{"id":"a","model":"m","reasoning_effort":"huge"}`, `agent spec: reasoning_effort is "huge", allowed are "none", "low", "medium", "high", "max" and {"budget": n}`},
		{"no such choice", `{"id":"a","model":"m","tool_choice":{"mode":"any"}}`, `agent "a": tool_choice.mode is "any", allowed are "auto", "none", "required" and "tool"`},
		{"a format without a name", `{"id":"a","model":"m","response_format":{"schema":{}}}`, `agent "a": response_format.name is "", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"a format whose schema multiplies", `{"id":"a","model":"m","response_format":{"name":"n","schema":{"$ref":"#"}}}`, `agent "a": response_format.schema cannot be used: JSON Schema is too complex: `},
		{"a format whose schema is none", `{"id":"a","model":"m","response_format":{"name":"n","schema":{"$ref":"#/$defs/x"}}}`, `agent "a": response_format.schema cannot be used: `},
		{"no such events", `{"id":"a","model":"m","events":"all"}`, `agent "a": events is "all", allowed are "live" and "commits"`},
		{"no such mode", `{"id":"a","model":"m","execution_mode":"parallel"}`, `agent "a": execution_mode is "parallel", allowed are "sequential", "parallel_batch_approval" and "parallel_streaming"`},
		{"a negative window", `{"id":"a","model":"m","context":{"max_context_tokens":-1}}`, `agent "a": context.max_context_tokens is -1, want 0 or more`},
		{"more output than window", `{"id":"a","model":"m","context":{"max_context_tokens":16383}}`, `agent "a": context.max_output_tokens is 16384, more than the 16383 of max_context_tokens`},
		{"a threshold that is never reached", `{"id":"a","model":"m","context":{"autocompact_threshold":183617}}`, `agent "a": context.autocompact_threshold is 183617, want at most 183616: max_context_tokens less max_output_tokens`},
		{"no such kind of compaction", `{"id":"a","model":"m","context":{"compaction":"now"}}`, `agent "a": context.compaction is "now", allowed are "off", "background" and "inline"`},
		{"compaction without a threshold", `{"id":"a","model":"m","context":{"compaction":"inline"}}`, `agent "a": context.compaction is "inline" without an autocompact_threshold: nothing would ever be compacted`},
		{"a ratio above one", `{"id":"a","model":"m","context":{"min_savings_ratio":1.1}}`, `agent "a": context.min_savings_ratio is 1.1, want 0 to 1`},
		{"a negative length of summaries", `{"id":"a","model":"m","context":{"summary_max_tokens":-1}}`, `agent "a": context.summary_max_tokens is -1, want 0 or more`},
		{"no such compaction", `{"id":"a","model":"m","context":{"compaction_mode":"all"}}`, `agent "a": context.compaction_mode is "all", allowed are "keep_recent_raw_suffix" and "compact_to_safe_frontier"`},
		{"a delegate twice", `{"id":"a","model":"m","delegates":["b","b"]}`, `agent "a": delegates names "b" twice`},
		{"a section's bad name", `{"id":"a","model":"m","sections":{"a b":1}}`, `agent "a": sections: section name "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
		{"options of a provider that is none", `{"id":"a","model":"m","provider_options":{"a b":{}}}`, `agent "a": provider_options: provider id "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
		{"options that are no object", `{"id":"a","model":"m","provider_options":{"p":[]}}`, `agent "a": provider_options.p is [], want an object`},
		{"options that are null", `{"id":"a","model":"m","provider_options":{"p":null}}`, `agent "a": provider_options.p is null, want an object`},
		{"a section that is null", `{"id":"a","model":"m","sections":{"s":null}}`, `agent "a": sections.s is null, want a JSON value that is not null`},
		{"negative rounds", `{"id":"a","model":"m","max_rounds":-1}`, `agent "a": max_rounds is -1, want 0 (no limit) or more`},
		{"a negative temperature", `{"id":"a","model":"m","temperature":-0.1}`, `agent "a": temperature is -0.1, want 0 or more`},
		{"a plugin twice", `{"id":"a","model":"m","plugins":["x","x"]}`, `agent "a": plugins names "x" twice`},
		{"an empty tool", `{"id":"a","model":"m","excluded_tools":[""]}`, `agent "a": excluded_tools has an empty name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := spectext.DecodeSpec([]byte(test.spec))
			got := fmt.Sprint(err)
			if strings.HasSuffix(test.want, ": ") { // what follows is another library's
				got = got[:min(len(test.want), len(got))]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q, want invalid", core.CodeOf(err))
			}
		})
	}
}

func TestAFieldOutOfRangeIsNamedForPrograms(t *testing.T) {
	_, err := spectext.DecodeSpec([]byte(`{"id":"a","model":"m","stop_sequences":["x",""]}`))
	var found *field.Error
	if !errors.As(err, &found) {
		t.Fatalf("%v is no field.Error", err)
	}
	if diff := cmp.Diff(field.Error{Kind: "agent", ID: "a", Field: "stop_sequences[1]", Text: "stop_sequences[1] has 0 bytes, allowed are 1 to 256"}, *found); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecodeSpec(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"id":"a","model":"m","allowed_tools":null}`))
	f.Add([]byte(`{"id":"a","model":"m","x":1}`))
	f.Add([]byte(`{"id":"a","model":"m","sections":{"s":[{},[1e9,"\u2028\ud800"],{"a":{"b":null}}]},"context":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := spectext.DecodeSpec(data)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			return
		}
		same(t, spec)
		if diff := cmp.Diff(spec, spec.Normal()); diff != "" {
			t.Errorf("what was decoded has another normal form:\n%s", diff)
		}
	})
}

// same checks that the spec's JSON, by either encoder, is the spec.
func same(t *testing.T, spec agent.Spec) {
	t.Helper()
	for _, encode := range []func() ([]byte, error){func() ([]byte, error) { return core.EncodeJSON(spec.Normal()) }, func() ([]byte, error) { return json.Marshal(spec) }} {
		encoded, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := spectext.DecodeSpec(encoded)
		if err != nil {
			t.Fatalf("%s does not decode again: %v", encoded, err)
		}
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Errorf("%s is another spec:\n%s", encoded, diff)
		}
	}
}
