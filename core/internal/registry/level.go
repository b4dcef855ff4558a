package registry

import (
	"cmp"
	"slices"

	"github.com/reveille-run/reveille/core/model"
)

// Level has the facts that hold for every model that the agent's runs may call. For one
// model these are its facts. For a pool they are the smallest known bounds of its members,
// the earliest cutoff, the most tokens a byte, and the abilities that all of them have.
// Reasoning and prompt cache of a pool are each member's own, and empty here.
func (r *Resolved) Level() model.Facts {
	if r.pool == nil {
		return r.bound.Facts
	}
	all := r.CallableModels()
	level := all[0].Facts
	level.Reasoning, level.Levels, level.LongInput, level.PromptCache, level.Inputs = "", nil, 0, "", slices.Clone(level.Inputs)
	for _, m := range all[1:] {
		level.ContextWindow = least(level.ContextWindow, m.ContextWindow)
		level.MaxInputTokens = least(level.MaxInputTokens, m.MaxInputTokens)
		level.MaxOutputTokens = least(level.MaxOutputTokens, m.MaxOutputTokens)
		level.Cutoff = least(level.Cutoff, m.Cutoff)
		level.TokensPerByte = max(level.TokensPerByte, m.TokensPerByte)
		level.Inputs = slices.DeleteFunc(level.Inputs, func(i string) bool { return !slices.Contains(m.Inputs, i) })
		level.NativeFormat = level.NativeFormat && m.NativeFormat
	}
	return level
}

// least is the smaller one that is known.
func least[V cmp.Ordered](a, b V) V {
	var unknown V
	if a == unknown || b == unknown {
		return max(a, b)
	}
	return min(a, b)
}
