package demo

import (
	"context"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// setState returns the tool set_state, which merges keys into the state that a thread
// shares with its frontends, [plugin.SharedState]. Keys that it is not given stay.
func setState() tool.Tool {
	type arguments struct {
		State map[string]any `json:"state" jsonschema:"the keys to set, each with its new value"`
	}
	type reply struct {
		Keys []string `json:"keys"` // that were set, sorted
	}
	return tool.New(tool.Spec{Name: "set_state", Description: "Sets keys of the state that the user's application shows.", ReadOnly: true},
		func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
			keys := slices.Sorted(maps.Keys(a.State))
			result := tool.NewResult(reply{append([]string{}, keys...)})
			for _, key := range keys {
				result.Command = state.Combine(result.Command, plugin.SharedState.Edit(state.At(key).Set(a.State[key])))
			}
			return result, nil
		})
}
