package spectext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent/internal/spectext"
)

// The last value that is allowed is allowed: what is refused has a test elsewhere.
func TestSpecsAtTheirBoundsAreTaken(t *testing.T) {
	for _, fields := range []string{
		`"retry":{"max_retries":0,"backoff_base_ms":0,"overloaded_backoff_base_ms":0,"stream_idle_timeout_ms":1000,"patience_ms":0}`,
		`"retry":{"max_retries":20,"backoff_base_ms":60000,"overloaded_backoff_base_ms":60000,"stream_idle_timeout_ms":600000,"patience_ms":86400000}`,
		`"max_continuations":0`, `"max_continuations":20`, `"max_repairs":0`, `"max_repairs":10`, `"max_tokens":0`, `"max_rounds":0`,
		`"stop_sequences":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16"]`,
		`"stop_sequences":["` + strings.Repeat("x", 256) + `"]`,
		`"execution_mode":"sequential"`, `"execution_mode":"parallel_batch_approval"`, `"execution_mode":"parallel_streaming"`, `"events":"live"`, `"events":"commits"`,
		`"context":{"max_context_tokens":16384}`, `"context":{"autocompact_threshold":183616}`,
	} {
		if _, err := spectext.DecodeSpec([]byte(`{"id":"a","model":"m",` + fields + `}`)); err != nil {
			t.Errorf("%s: %v", fields, err)
		}
	}
	_, err := spectext.DecodeSpec([]byte(`{"id":"a","model":"m","stop_sequences":["` + strings.Repeat("x", 257) + `"]}`))
	if want := `agent "a": stop_sequences[0] has 257 bytes, allowed are 1 to 256`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A spec's own copy is changed in every place: what was made of it stays.
func TestASpecSharesNothingWithWhatItWasMadeOf(t *testing.T) {
	base, err := spectext.DecodeSpec([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	made := base.Normal()
	for _, n := range []*int{
		base.MaxRounds, base.MaxContinuations, base.MaxRepairs, base.Retry.MaxRetries, base.Retry.BackoffBaseMS, base.Retry.OverloadedBackoffBaseMS,
		base.Retry.StreamIdleTimeoutMS, base.Retry.PatienceMS, base.Context.MinRecentMessages, base.Context.CompactionRawSuffixMessages,
	} {
		*n = 77
	}
	*base.Temperature, *base.TopP, *base.Context.EnablePromptCache = 7, 7, true
	for _, names := range [][]string{
		base.StopSequences, base.Plugins, base.ActiveHookFilter, base.AllowedTools, base.AllowedToolPatterns, base.ExcludedTools, base.ExcludedToolPatterns, base.Delegates, base.ExposedTools,
	} {
		names[0] = "changed"
	}
	base.Stop[0].Seconds, base.Context.MaxContextTokens, base.ResponseFormat.Name = 77, 77, "changed"
	base.ResponseFormat.Schema[1], base.Sections["greeting"][1] = 'X', 'X'
	base.ProviderOptions["groq"][1] = 'X'
	base.Sections["more"] = json.RawMessage("1")
	text, err := core.EncodeJSON(made)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyListsOfASpecSayNothing(t *testing.T) {
	tests := []struct{ fields, want string }{
		{`"stop":[],"plugins":[],"sections":{}`, `{"id":"a","model":"m"}`},
		{`"allowed_tools":["x"],"allowed_tool_patterns":[]`, `{"id":"a","model":"m","allowed_tools":["x"]}`},
		{`"allowed_tools":[],"allowed_tool_patterns":["x"]`, `{"id":"a","model":"m","allowed_tool_patterns":["x"]}`},
		{`"allowed_tool_patterns":[]`, `{"id":"a","model":"m","allowed_tools":[]}`},
	}
	for _, test := range tests {
		got, err := spectext.DecodeSpec([]byte(`{"id":"a","model":"m",` + test.fields + `}`))
		if err != nil {
			t.Fatal(err)
		}
		want, err := spectext.DecodeSpec([]byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", test.fields, diff)
		}
	}
}
