package background

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// ID is the plugin's, by which agents name it.
const ID = "background"

// The names of the tools.
const (
	startTool   = "start_agent"
	statusTool  = "agent_status"
	outputTool  = "agent_output"
	cancelTool  = "cancel_task"
	sendTool    = "send_message"
	recoverTool = "recover_failed_messages"
)

// Section is where a spec has the settings.
var Section = plugin.Section[Config]{Name: "background"}

// Config is the content of the section.
type Config struct {
	// Agents are the ids of the agents that start_agent may run, and that send_message may name;
	// empty: the delegates of the spec.
	Agents []string `json:"agents,omitempty" jsonschema:"ids of the agents that may be started, and named in messages; the spec's delegates if it is omitted"`
}

// Check returns an error with code [core.CodeInvalid] if an id is invalid or repeated.
func (c Config) Check() error {
	for i, id := range c.Agents {
		if err := core.CheckName("agents: id", id); err != nil {
			return err
		}
		if slices.Contains(c.Agents[:i], id) {
			return core.Errorf(core.CodeInvalid, "agents: %q is repeated", core.Excerpt(id))
		}
	}
	return nil
}

// Plugin gives each agent that names it the tools of the package, with the agent's own
// [Section].
type Plugin struct{}

// ID implements plugin.Plugin.
func (Plugin) ID() string { return ID }

// Register implements plugin.Plugin.
func (Plugin) Register(r *plugin.Registrar) error {
	c, err := Section.Read(r)
	if err != nil {
		return err
	}
	if len(c.Agents) == 0 {
		for _, d := range r.Delegates() {
			c.Agents = append(c.Agents, d.ID)
		}
	}
	r.Key(tasksKey)
	r.Tool(tool.New(tool.Spec{
		Name: startTool,
		Description: fmt.Sprintf("Starts an agent in the background and returns immediately. Agents: %s. "+
			"You receive a message when it is over. Until then use %s, %s, %s and %s.", c.agents(), statusTool, outputTool, sendTool, cancelTool),
	}, c.start))
	r.Tool(tool.New(tool.Spec{
		Name: statusTool, ReadOnly: true,
		Description: "Returns the status of a background task: running, completed, failed or cancelled.",
	}, status))
	r.Tool(tool.New(tool.Spec{
		Name: outputTool, ReadOnly: true,
		Description: "Returns the output of a background task: its answer, or its last message so far.",
	}, output))
	r.Tool(tool.New(tool.Spec{
		Name:        cancelTool,
		Description: "Cancels a background task, or this run itself, with the agents that it waits for. Background tasks that it has started continue.",
	}, cancel))
	r.Tool(tool.New(tool.Spec{
		Name: sendTool,
		Description: "Sends a message to the agent that has started this one (parent), to a background task (child), " +
			"or to another thread of the user (agent). The answer, if there is one, is a message too.",
	}, c.send))
	r.Tool(tool.New(tool.Spec{
		Name:        recoverTool,
		Description: "Lists the messages of this thread that could not be delivered, sends them again (replay), or drops them (clear).",
	}, recoverFailed))
	return nil
}

// agents lists the agents for the model.
func (c Config) agents() string {
	if len(c.Agents) == 0 {
		return "none"
	}
	return strings.Join(c.Agents, ", ")
}

// problem is an error in a receipt.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
