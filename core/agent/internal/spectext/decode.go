// Package spectext reads specs of agents, models, pools and providers from JSON, strictly,
// and describes them as JSON Schema.
package spectext

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/strict"
)

// specText is a spec as JSON: some fields are needed in addition to their decoded values.
type specText struct {
	agent.Spec
	ActivePlugins []string `json:"active_plugins"` // another name of active_hook_filter
}

// DecodeSpec reads one spec from JSON, strictly: an unknown field is an error that names it
// and the one that was probably meant, and so is every error of [agent.Spec.Check]. Errors
// have code invalid.
//
// A catalog of tools that is absent allows every tool; one that is null allows
// none, as an empty list does. The field active_plugins is read as
// active_hook_filter.
func DecodeSpec(data []byte) (agent.Spec, error) {
	var text specText
	if err := strict.Decode(data, &text); err != nil {
		return agent.Spec{}, core.Errorf(core.CodeInvalid, "agent spec: %w", err)
	}
	var said map[string]json.RawMessage // the existing fields, with any values
	if err := json.Unmarshal(data, &said); err != nil {
		return agent.Spec{}, core.Errorf(core.CodeInvalid, "agent spec: %w", err)
	}
	s := text.Spec
	if _, alias := said["active_plugins"]; alias {
		if _, both := said["active_hook_filter"]; both {
			return agent.Spec{}, field.Invalid("agent", s.ID, "active_plugins", "is another name of active_hook_filter, give one of them")
		}
		s.ActiveHookFilter = text.ActivePlugins
	}
	_, tools := said["allowed_tools"]
	_, patterns := said["allowed_tool_patterns"]
	if (tools || patterns) && s.AllowedTools == nil && s.AllowedToolPatterns == nil {
		s.AllowedTools = []string{}
	}
	if err := s.Check(); err != nil {
		return agent.Spec{}, err
	}
	return s.Normal(), nil
}

// DecodeModel reads one model from JSON as strictly as [DecodeSpec] reads a spec.
func DecodeModel(data []byte) (agent.ModelSpec, error) {
	return decode[agent.ModelSpec]("model spec", data)
}

// DecodePool reads one pool from JSON as strictly as [DecodeSpec] reads a spec.
func DecodePool(data []byte) (agent.ModelPoolSpec, error) {
	return decode[agent.ModelPoolSpec]("pool spec", data)
}

// DecodeProvider reads one provider from JSON as strictly as [DecodeSpec] reads a
// spec.
func DecodeProvider(data []byte) (agent.ProviderSpec, error) {
	p, err := decode[agent.ProviderSpec]("provider spec", data)
	return p.Normal(), err
}

// decode reads one checked spec.
func decode[S interface{ Check() error }](what string, data []byte) (S, error) {
	var s, none S
	if err := strict.Decode(data, &s); err != nil {
		return none, core.Errorf(core.CodeInvalid, "%s: %w", what, err)
	}
	if err := s.Check(); err != nil {
		return none, err
	}
	return s, nil
}
