package permission

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
)

// Preview returns the behaviour for a call, with the reason, by the plugin's own judgement:
// it asks and changes nothing, and ignores the Approval of a tool. It reads of the call
//
//	Call      its Name and Arguments
//	Agent     the ID, on which what is remembered depends, and the tool's Parameters, by
//	          which the primary argument of several is found; nil: an agent of no name
//	Snapshot  what was granted and answered at run time, such as host.Result.State
//
// The error is that of [Config.Check], or of a state that cannot be read.
func (c Config) Preview(call plugin.GateCall) (b Behavior, why string, err error) {
	v, err := c.preview(call)
	return v.Behavior, v.Why, err
}

func (c Config) preview(call plugin.GateCall) (ruling, error) {
	p, err := c.compile()
	if err != nil {
		return ruling{}, err
	}
	if call.Agent == nil {
		call.Agent = &plugin.Agent{}
	}
	_, v, err := p.judged(call)
	return v, err
}

// Of returns the section of an agent's spec; without one it is the zero Config. A spec that
// does not name the plugin, or keeps it from deciding by its active_hook_filter, is an
// error: all its calls run.
func Of(spec agent.Spec) (Config, error) {
	if !slices.Contains(spec.Plugins, ID) || len(spec.ActiveHookFilter) > 0 && !slices.Contains(spec.ActiveHookFilter, ID) {
		return Config{}, core.Errorf(core.CodeInvalid, "agent %q does not have the plugin %q, or does not let it decide: all its calls run", spec.ID, ID)
	}
	raw, ok := spec.Sections[Section.Name]
	if !ok {
		return Config{}, nil
	}
	if err := (plugin.Setting{Name: Section.Name, Value: raw}).Check(); err != nil {
		return Config{}, fmt.Errorf("agent %q: permission: %w", spec.ID, err)
	}
	c, err := decode(raw)
	if err != nil {
		return Config{}, fmt.Errorf("agent %q: %w", spec.ID, err)
	}
	return c, nil
}
