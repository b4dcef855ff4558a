// Package agent is the demo agent with two additional tools. One uses profiles, which the
// role of a function allows and no tool of the demo agent does. The other ends its process, as
// a tool does that runs out of memory.
package agent

import (
	"context"
	"os"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

var notes = state.ProfileKey[string]{Name: "notes"}

// Parts returns the parts of the demo agent and the tools profile and crash. The tool profile
// writes, reads, lists and deletes a profile of the tenant, and returns the results. The tool
// crash ends the process.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	parts, err := demo.Parts(models)
	if err != nil {
		return agent.Parts{}, err
	}
	profile := tool.New(tool.Spec{Name: "profile", Description: "Keeps a note and forgets it."}, useProfiles)
	crash := tool.New(tool.Spec{Name: "crash", Description: "Ends the process."}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		os.Exit(3)
		return tool.Result{}, nil
	})
	parts.Tools = append(parts.Tools, profile, crash)
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
