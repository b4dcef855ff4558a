package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// current are models of every seller that its users ask for today. Each is in the catalog.
var current = []string{
	"anthropic/claude-fable-5-1", "anthropic/claude-opus-5-5", "anthropic/claude-opus-5", "anthropic/claude-opus-4-8", "anthropic/claude-opus-4-6",
	"anthropic/claude-sonnet-5-5", "anthropic/claude-sonnet-5", "anthropic/claude-sonnet-4-6", "anthropic/claude-haiku-5-5", "anthropic/claude-haiku-4-5",
	"openai/gpt-6.1-sol", "openai/gpt-6.1-terra", "openai/gpt-6-astra", "openai/gpt-6-luna", "openai/gpt-5.6-terra", "openai/gpt-5.5", "openai/gpt-5.5-2026-04-23",
	"openai/gpt-5.4", "openai/gpt-5.4-mini", "openai/gpt-5.4-nano", "openai/gpt-5.3-codex",
	"gemini/gemini-4-argon", "gemini/gemini-3.8-flash", "gemini/gemini-3.6-flash", "gemini/gemini-3.5-flash-lite", "gemini/gemini-flash-latest", "gemini/gemini-pro-latest", "gemini/gemini-2.5-flash",
	"xai/grok-4.7", "xai/grok-4.5", "xai/grok-4.3", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash", "zai/glm-5.3", "zai/glm-5.3-flash", "zai/glm-5.2",
	"mistral/mistral-large-latest", "mistral/mistral-large-4", "mistral/mistral-medium-latest", "mistral/mistral-small-latest",
	"groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b", "groq/qwen/qwen3.8-27b",
	"bedrock/us.anthropic.claude-sonnet-5-5", "bedrock/global.anthropic.claude-opus-5-5", "bedrock/anthropic.claude-haiku-5-5", "bedrock/amazon.nova-2-lite-v1:0",
	"azure/gpt-6.1-terra", "azure/gpt-5.4-mini", "vertex/gemini-3.8-flash", "vertex/claude-sonnet-5-5",
	"openrouter/anthropic/claude-sonnet-5", "openrouter/openai/gpt-6.1-terra",
}

// differences are those between the catalog and the third source, by model and fact, with
// the reason why the catalog is right, or safe.
var differences = map[string]string{
	"openai/gpt-5.5-2026-04-23 window":       "theirs is rounded: of the undated name they have 1,050,000",
	"gemini/gemini-3.8-flash window":         "theirs is rounded: 1,048,576",
	"gemini/gemini-3.6-flash window":         "theirs is rounded: 1,048,576",
	"gemini/gemini-3.5-flash-lite window":    "theirs is rounded: 1,048,576",
	"vertex/gemini-3.8-flash window":         "theirs is rounded: 1,048,576",
	"mistral/mistral-small-latest window":    "theirs is rounded: 262,144",
	"mistral/mistral-large-latest input":     "theirs is that of Mistral Large 2, of which the name was in 2024",
	"mistral/mistral-large-latest output":    "theirs is that of Mistral Large 2, of which the name was in 2024",
	"bedrock/amazon.nova-2-lite-v1:0 window": "the maker says 1,000,000; theirs is that of the first Nova models",
}

// third is what a source that the catalog is not made from has of a model. Prices are
// dollars for a million tokens; absent is not known.
type third struct {
	Provider, Name string
	Input, Output  *float64
	CacheRead      *float64 `json:"cache_read"`
	CacheWrite     *float64 `json:"cache_write"`
	CacheWriteHour *float64 `json:"cache_write_hour"`
	Window         *float64
	Above          *float64
}

// thirds reads what `go generate` has stored of the third source.
func thirds(t *testing.T) (all []third) {
	t.Helper()
	data, err := os.ReadFile("testdata/third.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differs returns the facts in which a model is more than 1 % away from the third source.
func (x third) differs(m entry) (facts []string) {
	var p price
	if len(m.Prices) > 0 {
		p = m.Prices[len(m.Prices)-1]
	}
	tier := core.USD(0)
	if p.Above != nil {
		tier = core.USD(p.Above.Tokens) * 1_000_000_000
	}
	window := core.USD(m.ContextWindow) * 1_000_000_000
	for _, fact := range []struct {
		name   string
		theirs *float64
		ours   *core.USD
	}{
		{"input", x.Input, p.Input}, {"output", x.Output, p.Output}, {"cache_read", x.CacheRead, p.CacheRead}, {"cache_write", x.CacheWrite, p.CacheWrite},
		{"cache_write_hour", x.CacheWriteHour, p.CacheWriteHour}, {"window", x.Window, &window}, {"above", x.Above, &tier},
	} {
		if fact.theirs == nil {
			continue
		}
		ours := 0.0
		if fact.ours != nil {
			ours = float64(*fact.ours) / 1e9
		}
		if math.Abs(ours-*fact.theirs) > 0.01*max(ours, *fact.theirs) {
			facts = append(facts, fmt.Sprintf("%s is %v, theirs %v", fact.name, ours, *fact.theirs))
		}
	}
	return facts
}

func TestCurrentModelsAreFoundAndCostWhatOthersSay(t *testing.T) {
	known, compared, named := Default(), 0, map[string]bool{}
	all := thirds(t)
	for _, model := range current {
		provider, name, _ := strings.Cut(model, "/")
		m, ok := known.find(provider, name)
		if !ok || m.Provider != provider || m.ContextWindow == 0 || len(m.Prices) == 0 {
			t.Errorf("%s: found %v with window %d and %d prices", model, ok, m.ContextWindow, len(m.Prices))
		}
		i := slices.IndexFunc(all, func(x third) bool { return x.Provider == provider && x.Name == name })
		if i < 0 {
			continue
		}
		compared++
		for _, difference := range all[i].differs(m) {
			fact, _, _ := strings.Cut(difference, " ")
			key := model + " " + fact
			if differences[key] == "" {
				t.Errorf("%s: %s", model, difference)
			}
			named[key] = true
		}
	}
	if compared < 45 || len(current) < 50 {
		t.Errorf("%d of %d models are compared", compared, len(current))
	}
	for key := range differences {
		if !named[key] {
			t.Errorf("%s does not differ", key)
		}
	}
}

// Of all models few differ: a mistake of the generator would be in many.
func TestFewModelsDifferFromTheThirdSource(t *testing.T) {
	known := Default()
	all, differ := thirds(t), 0
	for _, x := range all {
		m, ok := known.find(x.Provider, x.Name)
		if !ok {
			t.Errorf("%s/%s is not in the catalog: run go generate ./core/model/catalog", x.Provider, x.Name)
		}
		if facts := x.differs(m); len(facts) > 0 {
			differ++
			t.Logf("%s/%s: %s", x.Provider, x.Name, strings.Join(facts, "; "))
		}
	}
	if len(all) < 400 || differ > len(all)/3 {
		t.Errorf("%d of %d models differ", differ, len(all))
	}
}
