package anthropic

import (
	"fmt"

	"github.com/reveille-run/reveille/core/model"
)

// thinking determines whether and how the model reasons.
type thinking struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

// binding determines what happens to thinking that a changed conversation has
// invalidated.
type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// bindingBeta is the feature that knows binding.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// minBudget is the smallest budget of thinking that the API takes.
const minBudget = 1024

// budgets are what the levels mean for models that think within a budget.
var budgets = map[model.Effort]int{
	model.EffortLow: 2048, model.EffortMedium: 8192, model.EffortHigh: 16_384, model.EffortMax: 32_768,
}

// on reports whether the model thinks. For the newest models, which always do, it is
// never nil.
func (t *thinking) on() bool { return t != nil && (t.Type == "adaptive" || t.Type == "enabled") }

// think sets the limit of the turn's tokens, and whether the model reasons.
//
// A tool loop that another model has said a part of is finished without thinking, and within
// a budget one that began without: there the API wants its first turn to begin with thinking,
// which adaptive thinking does not need. Models that cannot be kept from it think on. A model
// that does not think is given none of its thinking back, and keeps its level.
func (w *messagesRequest) think(request model.Request, k kin, h history) error {
	effort := request.ReasoningEffort
	budget, budgeted := effort.Budget()
	w.MaxTokens = request.MaxTokens
	if w.MaxTokens == 0 {
		w.MaxTokens = k.defaultTokens(effort, budget)
	}
	if err := k.takes(request, w.MaxTokens); err != nil {
		return err
	}
	asked, manual := effort != "" && effort != model.EffortNone, budgeted || !k.levels
	switch kept := effort == model.EffortNone || h.foreign || manual && h.unthought; {
	case k.canStop() && (kept || !asked && !k.always):
		w.echoes = k.open && !kept
		w.stop(request, k, asked && !manual)
		return nil
	case manual:
		if !budgeted {
			budget = min(budgets[effort], w.MaxTokens*3/4)
		}
		if budget >= minBudget { // a level is interpreted by the provider, so that no room for it is not an error
			w.Thinking, w.echoes = &thinking{Type: "enabled", Budget: budget}, true
		}
		return nil
	}
	w.adapt(request, k, h)
	return nil
}

// level is what the model calls the effort of a request.
func level(request model.Request, effort model.Effort) string {
	request.ReasoningEffort = effort
	if level, known := request.Level(); known {
		return level
	}
	return string(effort)
}

// stop keeps the model from thinking. Its level, if it has one, also determines how much
// it writes; models that think by default accept none above high without thinking.
func (w *messagesRequest) stop(request model.Request, k kin, leveled bool) {
	effort := request.ReasoningEffort
	if k.always {
		w.Thinking = &thinking{Type: k.off}
		if effort == model.EffortMax {
			effort = model.EffortHigh
		}
	}
	if leveled {
		w.config().Effort = level(request, effort)
	}
}

// adapt lets the model decide how much to think. If its thinking may be invalid, the
// request asks to drop it, since windows, summaries and transient context change the
// conversation.
func (w *messagesRequest) adapt(request model.Request, k kin, h history) {
	w.Thinking, w.echoes = &thinking{Type: "adaptive"}, true
	if !k.budgets { // those show no thinking unless asked to
		w.Thinking.Display = "summarized"
	}
	if k.bound && h.thought {
		w.Thinking.Binding = &binding{Mismatch: "drop_block"}
	}
	switch effort := request.ReasoningEffort; effort {
	case "":
	case model.EffortNone: // the model cannot be kept from it
		w.config().Effort = level(request, model.EffortLow)
	default:
		w.config().Effort = level(request, effort)
	}
}

// defaultTokens is the limit of a turn's tokens of a request that says none.
func (k kin) defaultTokens(effort model.Effort, budget int) int {
	switch {
	case budget > 0:
		return min(k.output, defaultOutput+budget)
	case effort == model.EffortMax:
		return min(k.output, defaultOutputMax)
	}
	return min(k.output, defaultOutput)
}

// takes returns the error of an effort that the model has no form for.
func (k kin) takes(request model.Request, limit int) error {
	budget, budgeted := request.ReasoningEffort.Budget()
	switch {
	case request.ReasoningEffort == "" || request.ReasoningEffort == model.EffortNone:
	case !k.budgets && !k.levels:
		return invalid(fmt.Sprintf("reasoning effort %q is not supported by model %s, which does not reason", request.ReasoningEffort, request.Model))
	case !budgeted:
	case !k.budgets:
		return invalid(fmt.Sprintf("reasoning effort %q is not supported by model %s, which has levels", request.ReasoningEffort, request.Model))
	case budget < minBudget || budget >= limit:
		return invalid(fmt.Sprintf("a reasoning budget of %d tokens is not supported with a limit of %d tokens, want %d or more, and less than the limit", budget, limit, minBudget))
	}
	return nil
}
