package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// CheckFrontend refuses a frontend whose tools this agent cannot have: one that is not a
// valid tool, or has the name of one that the agent runs itself. The agent's own client
// tool may be declared again, since the client does run it; the agent's declaration counts.
func (r *Resolved) CheckFrontend(f *core.Frontend) error {
	for i, t := range f.Tools {
		if t.Name == finalanswer.Tool && (f.Answer != nil || r.Spec.ResponseFormat != nil) {
			return core.Errorf(core.CodeConflict, "frontend tool %q has the name of the one that takes the answer", finalanswer.Tool)
		}
		if own, exists := r.Tools[t.Name]; exists || t.Name == toolcall.ReadResult {
			if exists && own.Spec().Client {
				continue
			}
			return core.Errorf(core.CodeConflict, "frontend tool %q has the name of a tool that agent %q runs itself", core.Excerpt(t.Name), r.Spec.ID)
		}
		if _, err := frontendTool(t); err != nil {
			return core.Errorf(refused(err), "frontend.tools[%d]: %w", i, err)
		}
	}
	if f.Answer == nil {
		return nil
	}
	if r.Tools[finalanswer.Tool] != nil {
		return core.Errorf(core.CodeConflict, "frontend.answer: agent %q has a tool %q, the name of the one that takes the answer", r.Spec.ID, finalanswer.Tool)
	}
	format := finalanswer.FormatOf(f.Answer)
	if err := finalanswer.CheckFormat(&format); err != nil {
		return core.Errorf(refused(err), "frontend.answer: %w", err)
	}
	return nil
}

// refused is the code of what a frontend brings and an agent cannot be given.
func refused(err error) core.Code {
	if errors.Is(err, schema.ErrTooComplex) {
		return core.CodeTooLarge
	}
	return core.CodeInvalid
}

// WithFrontend returns the agent with the tools of a run's frontend after its own, and the
// form of the answer that the frontend asks for. It omits tools that CheckFrontend would
// refuse: they were accepted for an agent that has changed since.
func (r *Resolved) WithFrontend(f *core.Frontend) *Resolved {
	if f == nil || len(f.Tools) == 0 && f.Answer == nil {
		return r
	}
	with := *r
	if f.Answer != nil {
		with.Spec.ResponseFormat = new(finalanswer.FormatOf(f.Answer))
	}
	if len(f.Tools) == 0 {
		return &with
	}
	with.Tools = maps.Clone(r.Tools)
	with.ModelTools = slices.Clip(r.ModelTools)
	for _, t := range f.Tools {
		if _, exists := with.Tools[t.Name]; exists || t.Name == toolcall.ReadResult {
			continue
		}
		made, err := frontendTool(t)
		if err != nil {
			continue
		}
		if with.Tools == nil {
			with.Tools = map[string]tool.Tool{}
		}
		spec := made.Spec()
		with.Tools[t.Name] = made
		with.ModelTools = append(with.ModelTools, model.ToolDefinition{Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters})
	}
	return &with
}

// frontendTool makes a client's tool of a declaration.
func frontendTool(t core.FrontendTool) (tool.Tool, error) {
	parameters := t.Parameters
	if parameters == nil || string(parameters) == "null" {
		parameters = json.RawMessage(schema.AnyParameters)
	}
	made, err := toolrun.Admit(tool.NewClient[map[string]any](tool.Spec{Name: t.Name, Description: t.Description, Parameters: parameters}))
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", core.Excerpt(t.Name), err)
	}
	return made, nil
}
