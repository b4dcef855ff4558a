package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// Effort is how much a model may reason before it responds: one of the levels, or
// a budget of tokens ([EffortBudget]). Empty: the provider's default. As JSON a
// level is a string and a budget {"budget": n}; as text a budget is "budget:n".
type Effort string

// The levels. Their cost depends on the provider.
const (
	EffortNone   Effort = "none" // no reasoning, where the model can do without
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	EffortMax    Effort = "max"
)

// budgetPrefix begins the text of a budget.
const budgetPrefix = "budget:"

// maxBudget is the largest budget, in tokens.
const maxBudget = 1_000_000

// EffortBudget is an effort of at most so many tokens of reasoning: 1 to 1,000,000, which
// Check looks at.
func EffortBudget(tokens int) Effort { return Effort(budgetPrefix + strconv.Itoa(tokens)) }

// Budget returns the tokens of a budget; ok is false for a level and for nothing.
func (e Effort) Budget() (tokens int, ok bool) {
	digits, ok := strings.CutPrefix(string(e), budgetPrefix)
	if !ok {
		return 0, false
	}
	tokens, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(tokens) != digits { // one text for one budget
		return 0, false
	}
	return tokens, true
}

// Level returns what the model calls the level of ReasoningEffort: the level of this name, if
// the model has it, else the next higher one, else its highest. For none it is the lowest
// level of a model that cannot do without. known is false for no effort, for a budget, and if
// the model's levels are not known.
func (r *Request) Level() (level string, known bool) {
	wanted := slices.Index(levels, string(r.ReasoningEffort))
	if wanted < 0 || len(r.Levels) == 0 {
		return "", false
	}
	highest := 0
	for i, name := range levels {
		if !slices.Contains(r.Levels, name) {
			continue
		}
		if i >= wanted {
			return name, true
		}
		highest = i
	}
	return levels[highest], true
}

// Check returns an error with code invalid for what is neither empty, a level nor
// a budget within its bounds.
func (e Effort) Check() error {
	switch e {
	case "", EffortNone, EffortLow, EffortMedium, EffortHigh, EffortMax:
		return nil
	}
	if tokens, ok := e.Budget(); ok {
		if tokens < 1 || tokens > maxBudget {
			return core.Errorf(core.CodeInvalid, "reasoning_effort.budget is %d, allowed are 1 to %d", tokens, maxBudget)
		}
		return nil
	}
	return core.Errorf(core.CodeInvalid, "reasoning_effort is %q, %s", core.Excerpt(string(e)), effortsAllowed)
}

const effortsAllowed = `allowed are "none", "low", "medium", "high", "max" and {"budget": n}`

// effortBudget is a budget as JSON.
type effortBudget struct {
	Budget int `json:"budget" strict:"min=1,max=1000000"`
}

// MarshalJSON implements json.Marshaler.
func (e Effort) MarshalJSON() ([]byte, error) {
	if tokens, ok := e.Budget(); ok {
		return json.Marshal(effortBudget{tokens})
	}
	return json.Marshal(string(e))
}

// UnmarshalJSON implements json.Unmarshaler. It returns the errors of Check.
func (e *Effort) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var b effortBudget
		if err := (strict.Options{NoNull: true, Required: true}).Decode(data, &b); err != nil {
			return err
		}
		*e = EffortBudget(b.Budget)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return strict.Errorf(`is %s, want a level or {"budget": n}`, core.Excerpt(string(data)))
	}
	if Effort(text).Check() != nil {
		return strict.Errorf("is %q, %s", core.Excerpt(text), effortsAllowed)
	}
	*e = Effort(text)
	return nil
}
