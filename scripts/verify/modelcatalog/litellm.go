package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// litellmModel is what litellm has of a model. The prices are dollars for a token.
type litellmModel struct {
	Provider   string   `json:"litellm_provider"`
	Mode       string   `json:"mode"`
	Outputs    []string `json:"supported_output_modalities"`
	Input      *float64 `json:"input_cost_per_token"`
	Output     *float64 `json:"output_cost_per_token"`
	CacheRead  *float64 `json:"cache_read_input_token_cost"`
	CacheWrite *float64 `json:"cache_creation_input_token_cost"`
	Hour       *float64 `json:"cache_creation_input_token_cost_above_1hr"`
	MaxInput   any      `json:"max_input_tokens"`
	MaxOutput  any      `json:"max_output_tokens"`
	Retired    string   `json:"deprecation_date"`
	Successor  string   `json:"successor_model"`

	Vision       bool `json:"supports_vision"`
	Documents    bool `json:"supports_pdf_input"`
	Audio        bool `json:"supports_audio_input"`
	Reasons      bool `json:"supports_reasoning"`
	Adaptive     bool `json:"supports_adaptive_thinking"`
	Legacy       bool `json:"supports_legacy_thinking"`
	Cache        bool `json:"supports_prompt_caching"`
	Schema       bool `json:"supports_response_schema"`
	NativeSchema bool `json:"supports_native_structured_output"`

	Levels  []string `json:"reasoning_effort_levels"`
	Ceiling string   `json:"bedrock_output_config_effort_ceiling"`
	None    *bool    `json:"supports_none_reasoning_effort"`
	Minimal *bool    `json:"supports_minimal_reasoning_effort"`
	Low     *bool    `json:"supports_low_reasoning_effort"`
	Xhigh   *bool    `json:"supports_xhigh_reasoning_effort"`
	Max     *bool    `json:"supports_max_reasoning_effort"`
}

// litellmSellers are our providers by litellm's.
var litellmSellers = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "groq": "groq", "xai": "xai", "deepseek": "deepseek", "mistral": "mistral",
	"zai": "zai", "azure": "azure", "bedrock": "bedrock", "bedrock_converse": "bedrock",
	"vertex_ai-language-models": "vertex", "vertex_ai-anthropic_models": "vertex",
}

// otherKinds are in names of models that are for other things than conversations in text,
// and of names that are no model's.
var otherKinds = regexp.MustCompile(`audio|realtime|image|-tts|transcribe|embed|lyria|robotics|computer-use|container|guard|moderation|live|search|deep-research|^ft:|-omni-|exp-1|experimental|-beta|gv2|gemma-2|learnlm|medlm|instant-v1|-v2:1|claude-v1$`)

// litellmRows returns litellm's models by provider and name.
func litellmRows(root string) (map[key]*row, error) {
	content, err := litellmPrices(root)
	if err != nil {
		return nil, err
	}
	var table map[string]json.RawMessage
	if err := json.Unmarshal(content, &table); err != nil {
		return nil, err
	}
	all := map[key]*row{}
	for id, entry := range table {
		var m litellmModel
		if json.Unmarshal(entry, &m) != nil { // its first entry describes the members
			continue
		}
		seller, name := litellmSellers[m.Provider], litellmName(m.Provider, id)
		if seller == "" || name == "" || !m.converses(name) {
			continue
		}
		r, err := m.row(seller, name, entry)
		if err != nil {
			return nil, err
		}
		if r.ContextWindow > 0 {
			all[key{seller, name}] = r
		}
	}
	return all, nil
}

// litellmName is the name that the provider itself has for a model; empty: it is a
// deployment of a region, or of a contract.
func litellmName(provider, id string) string {
	switch provider {
	case "groq": // has names of other vendors
		return strings.TrimPrefix(id, "groq/")
	case "vertex_ai-language-models", "vertex_ai-anthropic_models":
		id = strings.TrimPrefix(id, "vertex_ai/")
	case "bedrock", "bedrock_converse":
		if strings.Contains(id, "@") || !strings.Contains(id, ".") {
			return ""
		}
	default:
		id = strings.TrimPrefix(id, provider+"/")
	}
	if strings.Contains(id, "/") {
		return ""
	}
	return id
}

// converses reports whether the model is for conversations and writes text alone.
func (m *litellmModel) converses(name string) bool {
	return (m.Mode == "chat" || m.Mode == "responses") && !otherKinds.MatchString(name) &&
		(len(m.Outputs) == 0 || slices.Contains(m.Outputs, "text") && !slices.Contains(m.Outputs, "audio") && !slices.Contains(m.Outputs, "video"))
}

func whole(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// row is the model as a row of a seller.
func (m *litellmModel) row(seller, name string, entry json.RawMessage) (*row, error) {
	r := &row{Provider: seller, Names: []string{name}, Source: source(ofLitellm)}
	r.ContextWindow, r.MaxOutputTokens = whole(m.MaxInput), whole(m.MaxOutput)
	if r.MaxOutputTokens >= r.ContextWindow { // it has no bound of its own
		r.MaxOutputTokens = 0
	}
	for _, input := range []struct {
		has  bool
		name string
	}{{m.Vision, "image"}, {m.Documents, "document"}, {m.Audio, "audio"}} {
		if input.has {
			r.Inputs = append(r.Inputs, input.name)
		}
	}
	m.reason(r)
	m.cache(r)
	r.NativeFormat = m.NativeSchema || m.Schema && !claude(name)
	r.Retired, r.Successor = m.Retired, m.Successor[strings.LastIndex(m.Successor, "/")+1:]
	if r.Names[0] == r.Successor || seller == "groq" {
		r.Successor = ""
	}
	if m.Input == nil || m.Output == nil {
		return r, nil
	}
	p := price{rates: rates{perMillion(*m.Input), perMillion(*m.Output), special(m.CacheRead), special(m.CacheWrite), special(m.Hour)}}
	var err error
	if p.Above, err = above(entry, p.rates); err != nil {
		return nil, err
	}
	r.Prices = []price{p}
	return r, nil
}

func claude(name string) bool { return strings.Contains(name, "claude") }

// special returns a price of the cache, nil if the source has none or 0.
func special(each *float64) *dollars {
	if each == nil || *each == 0 {
		return nil
	}
	return new(perMillion(*each))
}

// reason sets how a request says how much the model may reason.
func (m *litellmModel) reason(r *row) {
	name := r.Names[0]
	switch {
	case !m.Reasons && !strings.Contains(name, "gpt-oss"):
		r.Reasoning = "none"
	case claude(name) && (m.Legacy || !m.Adaptive), strings.HasPrefix(name, "gemini-2.5"):
		r.Reasoning = "budget"
	case name == "deepseek-reasoner" || name == "deepseek-r1" || strings.HasPrefix(name, "magistral"):
		r.Reasoning = "always"
	default:
		r.Reasoning = "levels"
	}
	if r.Reasoning != "levels" && !(claude(name) && m.Adaptive) {
		return
	}
	r.levels = map[string]bool{}
	for level, has := range map[string]*bool{"none": m.None, "minimal": m.Minimal, "low": m.Low, "xhigh": m.Xhigh, "max": m.Max} {
		if has != nil {
			r.levels[level] = *has
		}
	}
	if claude(name) { // has no level that its entry does not name
		for _, level := range []string{"none", "minimal", "xhigh", "max"} {
			if _, said := r.levels[level]; !said {
				r.levels[level] = false
			}
		}
	}
	if len(m.Levels) > 0 {
		for _, level := range allLevels {
			r.levels[level] = slices.Contains(m.Levels, level)
		}
	}
	if m.Ceiling != "" {
		for _, level := range allLevels[slices.Index(allLevels, m.Ceiling)+1:] {
			r.levels[level] = false
		}
	}
}

// allLevels are all levels that providers have, from the lowest.
var allLevels = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// cache sets how the provider caches the starts of requests.
func (m *litellmModel) cache(r *row) {
	switch {
	case claude(r.Names[0]), r.Provider == "bedrock" && m.Cache:
		r.PromptCache = "marks"
	case r.Provider == "bedrock":
		r.PromptCache = "none"
	case m.Cache, m.CacheRead != nil:
		r.PromptCache = "automatic"
	default:
		r.PromptCache = "none"
	}
}

// tierOf is the name of a price above a length of the input.
var tierOf = regexp.MustCompile(`^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost|cache_creation_input_token_cost_above_1hr)_above_(\d+)k_tokens$`)

// above is the price above a length of the input; nil: there is none. What it does not say
// costs what it costs below.
func above(entry json.RawMessage, below rates) (*tier, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(entry, &members); err != nil {
		return nil, err
	}
	t := tier{rates: below}
	for name, value := range members {
		parts := tierOf.FindStringSubmatch(name)
		var each float64
		if parts == nil || json.Unmarshal(value, &each) != nil {
			continue
		}
		thousands, _ := strconv.Atoi(parts[2])
		if t.Tokens > 0 && t.Tokens != thousands*1000 {
			return nil, fmt.Errorf("prices above %d and above %d tokens: the catalog has one length for a model", t.Tokens, thousands*1000)
		}
		t.Tokens = thousands * 1000
		t.set(parts[1], each)
	}
	if t.Tokens == 0 || t.rates.same(below) {
		return nil, nil
	}
	return &t, nil
}

func (t *tier) set(name string, each float64) {
	switch name {
	case "input_cost_per_token":
		t.Input = perMillion(each)
	case "output_cost_per_token":
		t.Output = perMillion(each)
	case "cache_read_input_token_cost":
		t.CacheRead = special(&each)
	case "cache_creation_input_token_cost":
		t.CacheWrite = special(&each)
	case "cache_creation_input_token_cost_above_1hr":
		t.CacheWriteHour = special(&each)
	}
}
