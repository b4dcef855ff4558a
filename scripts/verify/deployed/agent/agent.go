// Package agent is the demo agent with a tool that does what no tool of the demo does
// and the role of a function allows: it uses profiles.
package agent

import (
	"context"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

var notes = state.ProfileKey[string]{Name: "notes"}

// Parts returns the demo agent's, and the tool profile. That writes a profile of the
// tenant, reads it, lists it, deletes it, and returns what it has seen.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	parts, err := demo.Parts(models)
	if err != nil {
		return agent.Parts{}, err
	}
	profile := tool.New(tool.Spec{Name: "profile", Description: "Keeps a note and forgets it."}, useProfiles)
	parts.Tools = append(parts.Tools, profile)
	return parts, nil
}

type arguments struct {
	Note string `json:"note" jsonschema:"what to keep"`
}

type reply struct {
	Read string `json:"read"`
	Keys int    `json:"keys"`
	Left string `json:"left"`
}

func useProfiles(ctx context.Context, call tool.Call, a arguments) (tool.Result, error) {
	key := call.Key()
	if err := notes.Write(ctx, call.Profiles, key, a.Note); err != nil {
		return tool.Result{}, err
	}
	var r reply
	var err error
	if r.Read, err = notes.Read(ctx, call.Profiles, key); err != nil {
		return tool.Result{}, err
	}
	keys, err := notes.Keys(ctx, call.Profiles, key, "", 10)
	if err != nil {
		return tool.Result{}, err
	}
	r.Keys = len(keys)
	if err := notes.Delete(ctx, call.Profiles, key); err != nil {
		return tool.Result{}, err
	}
	if r.Left, err = notes.Read(ctx, call.Profiles, key); err != nil {
		return tool.Result{}, err
	}
	return tool.NewResult(r), nil
}
