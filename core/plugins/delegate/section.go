package delegate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/plugin"
)

// Section is where a spec has the settings.
var Section = plugin.Section[Config]{Name: "delegate"}

// Config is the content of the section.
type Config struct {
	// Agents are the settings of delegates, by their ids.
	Agents map[string]Settings `json:"agents,omitempty" jsonschema:"settings of delegates, by their ids"`
}

// Settings are those of one delegate.
type Settings struct {
	// Thread decides what the delegate remembers; empty: "new", each call has a separate thread.
	Thread Thread `json:"thread,omitempty" jsonschema:"new (the default): each call has a separate thread; kept: the delegate remembers the calls of a thread"`
	// OnParentEnd decides what happens to the delegate when the run that has called it ends
	// before it; empty: "cancel".
	OnParentEnd OnParentEnd `json:"on_parent_end,omitempty" jsonschema:"cancel (the default) or detach: when the run ends first, the delegate's run is cancelled, or continues"`
}

// Thread is where a delegate runs.
type Thread string

// The threads of delegates.
const (
	threadNew Thread = "new" // each call has a separate thread
	// ThreadKept means one thread for each thread of the agent, on which the delegate remembers
	// the calls before. Concurrent calls run there one after the other.
	ThreadKept Thread = "kept"
)

// OnParentEnd is what happens to a delegate whose caller ends first.
type OnParentEnd string

// The values of OnParentEnd.
const (
	cancel OnParentEnd = "cancel" // it is cancelled
	Detach OnParentEnd = "detach" // it continues, and no call receives its answer
)

// Check returns an error with code [core.CodeInvalid] if a value is unknown.
func (c Config) Check() error {
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		switch s := c.Agents[id]; {
		case s.Thread != "" && s.Thread != threadNew && s.Thread != ThreadKept:
			return core.Errorf(core.CodeInvalid, "agents.%s.thread is %q, allowed are %q and %q", core.Excerpt(id), core.Excerpt(string(s.Thread)), threadNew, ThreadKept)
		case s.OnParentEnd != "" && s.OnParentEnd != cancel && s.OnParentEnd != Detach:
			return core.Errorf(core.CodeInvalid, "agents.%s.on_parent_end is %q, allowed are %q and %q", core.Excerpt(id), core.Excerpt(string(s.OnParentEnd)), cancel, Detach)
		}
	}
	return nil
}

// checkAgents refuses the settings of an agent that is not a delegate.
func (c Config) checkAgents(delegates []plugin.Delegate) error {
	ids := make([]string, len(delegates))
	for i, d := range delegates {
		ids[i] = d.ID
	}
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		if !slices.Contains(ids, id) {
			list := "none"
			if len(ids) > 0 {
				list = strings.Join(ids, ", ")
			}
			return field.At("sections.delegate.agents", fmt.Errorf("section %q: agent %q is not a delegate of the agent, its delegates are: %s", Section.Name, core.Excerpt(id), list))
		}
	}
	return nil
}
