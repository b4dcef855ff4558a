package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

func TestEveryProviderIsAnAdapterButTheScriptedOne(t *testing.T) {
	want := []string{
		"anthropic", "bedrock", "deepseek", "gemini", "groq", "llamacpp", "mistral", "ollama", "openai", "openai-responses", "openrouter", "vllm", "xai", "zai",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(Adapters()))); diff != "" {
		t.Error(diff)
	}
}

func TestProvidersThatAreData(t *testing.T) {
	key := secret.New("k")
	tests := []struct {
		spec agent.ProviderSpec
		want string
	}{
		{agent.ProviderSpec{Adapter: "openai", APIKey: key}, "*openai.Model"},
		{agent.ProviderSpec{Adapter: "openai", BaseURL: "https://p.example/v1", Options: json.RawMessage(`{"dialect":"vllm","organization":"o"}`)}, "*openai.Model"},
		{agent.ProviderSpec{Adapter: "openai-responses", APIKey: key, Options: json.RawMessage(`{"reasoning_summary":"auto"}`)}, "*openai.Responses"},
		{agent.ProviderSpec{Adapter: "anthropic", APIKey: key, Options: json.RawMessage(`{"version":"2023-06-01","betas":["b"]}`)}, "*anthropic.Model"},
		{agent.ProviderSpec{Adapter: "gemini", APIKey: key, Options: json.RawMessage(`{}`)}, "*gemini.Model"},
		{agent.ProviderSpec{Adapter: "groq", APIKey: key, TimeoutMS: 1000}, "providers.checked"},
		{agent.ProviderSpec{Adapter: "openai", Options: json.RawMessage(`{"dialect":"klingon"}`)}, `openai: dialect "klingon" is unknown, allowed are azure, compatible, deepseek, groq, llamacpp, mistral, ollama, openai, openrouter, vllm, xai, zai`},
		{agent.ProviderSpec{Adapter: "openai", Options: json.RawMessage(`{"dialects":"groq"}`)}, `unknown field "dialects" in options, did you mean "dialect"?`},
		{agent.ProviderSpec{Adapter: "anthropic", Options: json.RawMessage(`{"dialect":"groq"}`)}, `unknown field "dialect" in options, allowed are version, betas`},
		{agent.ProviderSpec{Adapter: "gemini", Options: json.RawMessage(`{"dialect":"groq"}`)}, `unknown field "dialect" in options, none is allowed`},
		{agent.ProviderSpec{Adapter: "openai", BaseURL: "https://p.example/v1", APIKey: secret.New("a b")}, "openai: API key has a space, a line end or another character that a header cannot carry"},
	}
	for _, test := range tests {
		m, err := Adapters()[test.spec.Adapter](test.spec)
		got := fmt.Sprintf("%T", m)
		if err != nil {
			got = err.Error()
			if core.CodeOf(err) != core.CodeInvalid || m != nil {
				t.Errorf("%s has code %q and comes with %v", got, core.CodeOf(err), m)
			}
		}
		if got != test.want {
			t.Errorf("%+v: %s, want %s", test.spec, got, test.want)
		}
	}
}

// slow says a word each second for so many seconds.
type slow int

func (s slow) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for range int(s) {
			select {
			case <-ctx.Done():
				yield(model.Delta{}, fmt.Errorf("slow: %w", ctx.Err()))
				return
			case <-time.After(time.Second):
			}
			if !yield(model.Delta{Type: model.DeltaText, Text: "a "}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop}, nil)
	}
}

func (slow) Check(model.Request) error { return errors.New("cannot") }

func TestACallOfAProviderWithATimeEndsInIt(t *testing.T) {
	tests := []struct {
		name         string
		limit        time.Duration
		cancelled    time.Duration // 0: never
		want         string
		kind         model.ErrorKind
		words, after int
	}{
		{"long enough", 5 * time.Second, 0, "<nil>", "", 3, 3},
		{"in the middle", 2500 * time.Millisecond, 0, "the call was not over after 2.5s: slow: context deadline exceeded", model.KindInterrupted, 2, 2},
		{"before it said anything", 500 * time.Millisecond, 0, "the call was not over after 500ms: slow: context deadline exceeded", model.KindTimeout, 0, 0},
		{"cancelled before", 5 * time.Second, 1500 * time.Millisecond, "slow: context deadline exceeded", "", 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.cancelled > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.cancelled)
					defer cancel()
				}
				words, began := 0, time.Now()
				var last error
				for d, err := range within(slow(3), test.limit).Stream(ctx, model.Request{}) {
					if last = err; err == nil && d.Type == model.DeltaText {
						words++
					}
				}
				failed, _ := errors.AsType[*model.Error](last)
				var kind model.ErrorKind
				if failed != nil {
					kind = failed.Kind
				}
				if fmt.Sprint(last) != test.want || kind != test.kind || words != test.words || int(time.Since(began).Seconds()) != test.after {
					t.Errorf("%v of kind %q behind %d words and %v", last, kind, words, time.Since(began))
				}
			})
		})
	}
}

func TestATimedModelKnowsWhatItCannotExpress(t *testing.T) {
	if c, ok := within(slow(1), time.Second).(model.Checker); !ok || c.Check(model.Request{}) == nil {
		t.Error("a model that checks does so no more with a time")
	}
	if _, ok := within(struct{ model.Model }{slow(1)}, time.Second).(model.Checker); ok {
		t.Error("a model that cannot check does so with a time")
	}
}
