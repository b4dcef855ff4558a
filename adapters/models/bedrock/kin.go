package bedrock

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core/model"
)

// kin describes a family of models. The facts about Claude's versions are from its
// maker's documentation of 2026-10.
type kin struct {
	family     family
	line       string // of Claude: sonnet
	major      int    // of Claude and Nova: the version
	minor      int
	marks      bool // takes cache points
	marksTools bool // after its tools, too
}

type family uint8

const (
	other family = iota
	claude
	nova
	gptOSS
)

// kinOf reads the family out of a model's name.
func kinOf(model string) kin {
	if _, version, ok := strings.Cut(model, "anthropic.claude-"); ok {
		k := kin{family: claude}
		k.line, k.major, k.minor = versionOf(version)
		k.marks = k.atLeast(3, 5)
		k.marksTools = k.marks
		return k
	}
	if _, version, ok := strings.Cut(model, "amazon.nova-"); ok {
		k := kin{family: nova, major: 1, marks: true}
		if strings.HasPrefix(version, "2-") {
			k.major = 2
		}
		return k
	}
	if strings.Contains(model, "openai.gpt-oss-") {
		return kin{family: gptOSS}
	}
	return kin{}
}

func (k kin) atLeast(major, minor int) bool {
	return k.major > major || k.major == major && k.minor >= minor
}

// versionOf reads sonnet, 4 and 5 out of "sonnet-4-5-20250929-v1:0", and haiku, 3 and 0
// out of "3-haiku-20240307-v1:0". A number of more than two digits is a date.
func versionOf(text string) (line string, major, minor int) {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '-' || c == ':' || c == '/' })
	numbers := 0
	for i, part := range parts {
		n, ok := short(part)
		switch {
		case ok && numbers == 0:
			major, numbers = n, 1
		case ok && numbers == 1 && i > 0 && isShort(parts[i-1]):
			minor, numbers = n, 2
		case !ok && line == "":
			line = part
		}
	}
	return line, major, minor
}

func isShort(part string) bool {
	_, ok := short(part)
	return ok
}

func short(part string) (int, bool) {
	n, err := strconv.Atoi(part)
	return n, err == nil && len(part) <= 2
}

// thought is the form in which a request limits a model's reasoning.
type thought struct {
	level    string                     // of outputConfig
	fields   map[string]json.RawMessage // of additionalModelRequestFields
	budgeted bool                       // they are Claude's budget
}

// budgets are what the levels are to models that know budgets alone, in tokens.
var budgets = map[model.Effort]int{model.EffortLow: 2_048, model.EffortMedium: 8_192, model.EffortHigh: 16_384, model.EffortMax: 32_000}

// leastBudget is the smallest that Claude takes.
const leastBudget = 1_024

// think is the effort in the family's terms.
func (k kin) think(request model.Request) (thought, error) {
	effort := request.ReasoningEffort
	if err := effort.Check(); err != nil || effort == "" {
		return thought{}, err
	}
	switch {
	case effort == model.EffortNone && k.family == nova && k.major == 2:
		return fields("reasoningConfig", `{"type":"disabled"}`), nil
	case effort == model.EffortNone && k.family == claude:
		if off := k.unthinking(thought{}); off.fields != nil || k.major < 5 {
			return off, nil
		}
		return k.claude(request) // it always thinks
	case effort == model.EffortNone && k.family != gptOSS:
		return thought{}, nil // nothing turns it on
	case k.family == claude && k.atLeast(3, 7):
		return k.claude(request)
	}
	level, known := request.Level()
	switch {
	case known:
	case effort == model.EffortMax:
		level = string(model.EffortHigh) // the highest that they know
	default:
		level = string(effort)
	}
	if _, budget := effort.Budget(); !budget && (known || effort != model.EffortNone) {
		switch {
		case k.family == nova && k.major == 2:
			return fields("reasoningConfig", `{"type":"enabled","maxReasoningEffort":"`+level+`"}`), nil
		case k.family == gptOSS:
			return fields("reasoning_effort", `"`+level+`"`), nil
		}
	}
	return thought{}, invalid("reasoning effort %q is not known for the model %q; use provider option additionalModelRequestFields as its maker documents", effort, request.Model)
}

func fields(name, value string) thought {
	return thought{fields: map[string]json.RawMessage{name: json.RawMessage(value)}}
}

// claude thinks by a level from version 4.6 on, before it by a budget.
func (k kin) claude(request model.Request) (thought, error) {
	budget, given := request.ReasoningEffort.Budget()
	switch {
	case request.Temperature != nil || request.TopP != nil:
		return thought{}, invalid("Claude does not accept temperature or top_p with a reasoning effort")
	case given && k.atLeast(4, 7):
		return thought{}, invalid("the model %q takes levels of reasoning effort, not a budget", request.Model)
	case given && budget < leastBudget:
		return thought{}, invalid("a reasoning effort of %d tokens, Claude takes %d or more", budget, leastBudget)
	case given && request.MaxTokens > 0 && budget >= request.MaxTokens:
		return thought{}, invalid("max_tokens is %d, want more than the %d tokens of the reasoning effort", request.MaxTokens, budget)
	case !given && k.atLeast(4, 6):
		t := fields("thinking", `{"type":"adaptive"}`)
		if k.atLeast(4, 7) { // those show no reasoning unless asked to
			t = fields("thinking", `{"type":"adaptive","display":"summarized"}`)
		}
		level, known := request.Level()
		switch {
		case known:
			t.level = level
		case request.ReasoningEffort == model.EffortNone: // no level has this name
			t.level = string(model.EffortLow)
		default:
			t.level = string(request.ReasoningEffort)
		}
		return t, nil
	case !given:
		budget = budgets[request.ReasoningEffort]
		if request.MaxTokens > 0 {
			budget = min(budget, request.MaxTokens*3/4)
		}
		if budget < leastBudget { // a level is interpreted by the provider: no room for it is not an error
			return thought{}, nil
		}
	}
	t := fields("thinking", `{"type":"enabled","budget_tokens":`+strconv.Itoa(budget)+`}`)
	t.budgeted = true
	return t, nil
}

// bound reports whether the model refuses reasoning whose conversation has changed since,
// as windows, summaries and plugins' context change it. Converse has no known option to
// drop it instead, so these models get no reasoning back.
func (k kin) bound() bool { return k.family == claude && k.atLeast(5, 1) }

// unforced reports whether the model refuses to be made to call a tool.
func (k kin) unforced() bool { return k.bound() && k.line != "haiku" }

// forced reports whether the request forces Claude to call a tool; most models cannot
// think then.
func forced(request model.Request) bool {
	mode := request.ToolChoice.Mode
	return len(request.Tools) > 0 && (mode == model.ToolRequired || mode == model.ToolNamed)
}

// unthinking keeps Claude from thinking, at the same level. From version 5 on it thinks
// unless the request disables that, which is allowed at no level above high, and some
// models do not allow it at all.
func (k kin) unthinking(t thought) thought {
	off := thought{level: t.level}
	switch {
	case k.major < 5:
		return off
	case k.line == "sonnet" && k.minor == 5:
		off = fields("thinking", `{"type":"between_tools"}`)
	case k.minor == 0 && (k.line == "opus" || k.line == "sonnet"), k.line == "haiku":
		off = fields("thinking", `{"type":"disabled"}`)
	default:
		return t
	}
	if off.level = t.level; off.level == string(model.EffortMax) || off.level == "xhigh" {
		off.level = string(model.EffortHigh)
	}
	return off
}
