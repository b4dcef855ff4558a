package catalog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exact compares prices as well.
var exact = cmp.AllowUnexported(price{}, above{})

func TestTheBuiltInFileHasOneSoundModelALine(t *testing.T) {
	whole, err := (&Catalog{}).With(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	if n, lines := bytes.Count(builtIn, []byte(`"names"`)), bytes.Count(builtIn, []byte("\n{\"provider\":")); n != lines || n < 600 {
		t.Errorf("%d models on %d lines", n, lines)
	}
	byLine := Default()
	for name, models := range whole.own {
		for _, m := range models {
			got, ok := byLine.find(m.Provider, name)
			if diff := cmp.Diff(m, got, exact); !ok || diff != "" {
				t.Errorf("%s of %s, read by its line:\n%s", name, m.Provider, diff)
			}
			if m.Source == "" || m.ContextWindow == 0 || m.Reasoning == "" || m.PromptCache == "" {
				t.Errorf("%s of %s lacks a window, how it reasons, its cache or the source: %+v", name, m.Provider, m)
			}
		}
	}
}

func TestAModelIsFoundByWhoSellsIt(t *testing.T) {
	known, err := Default().With([]byte(`{"models":[
		{"provider":"home","names":["gpt-5-mini","own"],"context_window":1000},
		{"provider":"vertex","names":["dated@20260101"],"context_window":3000},
		{"provider":"vertex","names":["dated"],"context_window":4000},
		{"provider":"groq","names":["openai/gpt-oss-20b"],"context_window":2000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		provider, name string
		window         int // 0: not found
		seller         string
	}{
		{"openai", "gpt-5-mini", 400000, "openai"},
		{"openai-responses", "gpt-5-mini", 400000, "openai"},
		{"openai", "gpt-5-min", 0, ""},
		{"openai", "claude-sonnet-4-5", 0, ""},
		{"openai", "own", 0, ""},
		{"anthropic", "claude-sonnet-4-5", 200000, "anthropic"},
		{"gemini", "gemini-2.5-pro", 1048576, "gemini"},
		{"home", "gpt-5-mini", 1000, "home"},
		{"home", "gpt-5", 0, ""},
		{"groq", "openai/gpt-oss-20b", 2000, "groq"},
		{"groq", "openai/gpt-oss-120b", 131072, "groq"},
		{"openrouter", "openai/gpt-5", 400000, "openrouter"},

		{"openai-compatible", "gpt-5", 400000, "openai"},
		{"", "claude-sonnet-4-5", 200000, "anthropic"},
		{"east", "own", 1000, "home"},
		{"openai-compatible", "gpt-5-mini", 1000, "home"},
		{"openai-compatible", "openai/gpt-oss-120b", 0, ""}, // Groq's or OpenRouter's?
		{"ollama", "gpt-5", 0, ""},
		{"vllm", "llama-3.3-70b-versatile", 0, ""},
		{"llamacpp", "own", 0, ""},

		{"bedrock", "amazon.nova-lite-v1:0", 300000, "bedrock"},
		{"bedrock", "eu.amazon.nova-lite-v1:0", 300000, "bedrock"},
		{"bedrock", "mars.amazon.nova-lite-v1:0", 0, ""},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0", 300000, "bedrock"},
		{"bedrock", "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", 300000, "bedrock"},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", 0, ""},
		{"openai", "us.gpt-5", 0, ""},
		{"openai", `gpt-5", "gpt-5-2025-08-07`, 0, ""},
		{"openai", "", 0, ""},
		{"openai", "-2026-01-01", 0, ""},
		{"vertex", "dated@20260101", 3000, "vertex"},
		{"vertex", "dated@20260102", 4000, "vertex"},
		{"vertex", "dated@20261301", 0, ""}, // no day
		{"east", "dated", 4000, "vertex"},   // which alone has it
	}
	for range 2 { // the second time from what is kept
		for _, test := range tests {
			m, ok := known.find(test.provider, test.name)
			got := fmt.Sprint(ok, m.ContextWindow, m.Provider)
			if want := fmt.Sprint(test.window > 0, test.window, test.seller); got != want {
				t.Errorf("%s of %q: %s, want %s", test.name, test.provider, got, want)
			}
		}
	}
	if m, ok := new(Catalog).find("openai", "gpt-5"); ok {
		t.Errorf("an empty catalog knows %+v", m)
	}
}

// A profile of one's own region has a price of its own.
func TestBedrocksProfilesHaveTheirPrices(t *testing.T) {
	const id = "anthropic.claude-sonnet-4-5-20250929-v1:0"
	for name, want := range map[string]string{"global." + id: "3", "us." + id: "3.3", id: "3.3"} {
		m, _ := Default().find("bedrock", name)
		if len(m.Prices) != 1 || m.Prices[0].Input.String() != want {
			t.Errorf("%s costs %+v, want %s", name, m.Prices, want)
		}
	}
}

func TestWhatAModelReads(t *testing.T) {
	m, _ := Default().find("openai", "gpt-5")
	if !slices.Contains(m.Inputs, "image") || slices.Contains(m.Inputs, "audio") || m.Ratio() != 0.25 || !m.NativeFormat {
		t.Errorf("%+v", m)
	}
}
