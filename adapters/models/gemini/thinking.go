package gemini

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// generation is the version of Gemini, from the model's name. The zero value is any other
// model: a Gemma, a tuned model.
type generation struct{ major, minor int }

// newest is the generation of names that end in -latest.
var newest = generation{3, 1 << 10}

// generationOf reads gemini-2.5-flash, gemini-3-pro-preview, gemini-flash-latest, with or
// without a path before it.
func generationOf(name string) generation {
	name = name[strings.LastIndexByte(name, '/')+1:]
	version, ok := strings.CutPrefix(name, "gemini-")
	if !ok {
		return generation{}
	}
	if strings.HasSuffix(version, "-latest") && (version[0] < '0' || version[0] > '9') {
		return newest
	}
	version, _, _ = strings.Cut(version, "-")
	first, second, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return generation{}
	}
	minor, _ := strconv.Atoi(second) // none: 0
	return generation{major, minor}
}

// signs reports whether the generation refuses calls without a signature.
func (g generation) signs() bool { return g.major >= 3 }

// budgets reports whether the generation takes its thinking in tokens alone.
func (g generation) budgets() bool { return g.major == 2 && g.minor >= 5 }

// thinking is the form of an effort, nil for the model's default. Thoughts are shown
// where thinking is asked for.
func thinking(request model.Request) (*thinkingConfig, error) {
	effort, name := request.ReasoningEffort, request.Model
	g := generationOf(name)
	if effort == "" || effort == model.EffortNone && !g.signs() && !g.budgets() {
		return nil, nil
	}
	switch tokens, isBudget := effort.Budget(); {
	case !g.signs() && !g.budgets():
		return nil, invalid(fmt.Sprintf("reasoning effort %q is not supported by the model %q, want Gemini 2.5 or later", effort, core.Excerpt(name)))
	case isBudget:
		return &thinkingConfig{IncludeThoughts: true, ThinkingBudget: &tokens}, nil
	case g.budgets():
		tokens = budgetOf(effort, strings.Contains(name, "-pro"))
		return &thinkingConfig{IncludeThoughts: tokens > 0, ThinkingBudget: &tokens}, nil
	}
	level, known := request.Level()
	switch {
	case known:
	case effort == model.EffortNone: // none of this generation can do without
		level = string(model.EffortLow)
	case effort == model.EffortMax: // the highest that every model has
		level = string(model.EffortHigh)
	default:
		level = string(effort)
	}
	return &thinkingConfig{IncludeThoughts: effort != model.EffortNone, ThinkingLevel: strings.ToUpper(level)}, nil
}

// budgetOf is a level in tokens, as the provider's own OpenAI endpoint counts them. The
// bounds are those of the models: Pro always thinks.
func budgetOf(effort model.Effort, pro bool) int {
	switch effort {
	case model.EffortLow:
		return 1024
	case model.EffortMedium:
		return 8192
	case model.EffortHigh:
		return 24576
	case model.EffortMax:
		if pro {
			return 32768
		}
		return 24576
	}
	if pro {
		return 128
	}
	return 0
}
