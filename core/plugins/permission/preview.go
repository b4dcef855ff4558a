package permission

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// Question is a call that nobody has made yet.
type Question struct {
	Agent     string // id of the agent that would make it; only what is remembered depends on it
	Tool      string
	Arguments json.RawMessage // nil: an empty object
	// Schema is the JSON Schema of the tool's parameters, by which the primary argument of
	// a call with several is found; nil: there is none.
	Schema json.RawMessage
	// Snapshot has what was granted and answered at run time, such as host.Result.State;
	// the zero one has nothing.
	Snapshot state.Snapshot
}

// Preview says what would become of a call, by the plugin's own judgement: it asks and
// changes nothing, and knows nothing of the Approval of a tool. The error is that of [Config.Check], or of a state that cannot be read.
func (c Config) Preview(q Question) (Ruling, error) {
	p, err := c.compile()
	if err != nil {
		return Ruling{}, err
	}
	m, err := recall(q.Snapshot, q.Agent)
	if err != nil {
		return Ruling{}, err
	}
	return p.judge(prepared(q.Agent, core.ToolCall{Name: q.Tool, Arguments: q.Arguments}, q.Schema), m), nil
}

// Of returns what the section of an agent's spec says; without one it is the zero Config.
// A spec that does not name the plugin, or keeps it from deciding by its
// active_hook_filter, is an error: all its calls run.
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
	c, err := Decode(raw)
	if err != nil {
		return Config{}, fmt.Errorf("agent %q: %w", spec.ID, err)
	}
	return c, nil
}
