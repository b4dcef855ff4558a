package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// ID is the plugin's. Specs need not name it.
const ID = "delegate"

// prefix and the id of a delegate are the name of its tool.
const prefix = "agent_run_"

// Plugin gives each agent with delegates a tool for each of them, with the agent's own
// [Section].
type Plugin struct{}

// ID implements plugin.Plugin.
func (Plugin) ID() string { return ID }

// Implied implements plugin.Implied: every agent with delegates has the plugin.
func (Plugin) Implied(delegates []plugin.Delegate) bool { return len(delegates) > 0 }

// Register implements plugin.Plugin.
func (Plugin) Register(r *plugin.Registrar) error {
	config, err := Section.Read(r)
	if err != nil {
		return err
	}
	delegates := r.Delegates()
	if err := config.checkAgents(delegates); err != nil {
		return err
	}
	for _, d := range delegates {
		a := delegation{agent: d, settings: config.Agents[d.ID]}
		r.DelegateTool(d.ID, tool.New(tool.Spec{Name: prefix + d.ID, Description: d.Description}, a.run))
	}
	return nil
}

// In returns the parts of a program with the plugin, once.
func In(parts agent.Parts) agent.Parts {
	has := slices.ContainsFunc(parts.Plugins, func(p plugin.Plugin) bool {
		_, is := p.(Plugin)
		return is
	})
	if !has {
		parts.Plugins = append(slices.Clip(parts.Plugins), plugin.Plugin(Plugin{}))
	}
	return parts
}

// arguments are those of a call.
type arguments struct {
	Prompt string `json:"prompt" jsonschema:"what the agent is to do: it sees nothing else of this conversation"`
}

// Check returns an error if the prompt is blank.
func (a arguments) Check() error {
	if strings.TrimSpace(a.Prompt) == "" {
		return tool.InvalidArgument("prompt", "is blank, want a text")
	}
	return nil
}

// delegation is the tool of a delegate of one agent.
type delegation struct {
	agent    plugin.Delegate
	settings Settings
}

// run starts the delegate, and gives the call its result when the delegate's run is over.
func (d delegation) run(ctx context.Context, call tool.Call, a arguments) (tool.Result, error) {
	if end, over := call.ChildEnd(); over {
		return d.result(end), nil
	}
	above := call.Lineage().Agents
	if i := slices.Index(above, d.agent.ID); i >= 0 {
		return d.failed("failed: cycle %s -> %s", strings.Join(above[i:], " -> "), d.agent.ID), nil
	}
	child := tool.Child{Agent: d.agent.ID, Messages: []core.Message{core.UserMessage(a.Prompt)}, Detached: d.settings.OnParentEnd == Detach}
	if d.settings.Thread == ThreadKept {
		child.Kept = d.agent.ID
	}
	run, err := call.Start(ctx, child)
	switch core.CodeOf(err) {
	case "":
		return tool.AwaitChild(run, core.ResumeReplay), nil
	case core.CodeInvalid, core.CodeNotFound, core.CodeFull, core.CodeTooLarge, core.CodeUnsupported, core.CodeTenantLimit, core.CodeTenantSpend:
		return d.failed("failed: %v", err), nil
	}
	return tool.Result{}, err
}

// answer is the data of a result.
type answer struct {
	AgentID  string `json:"agent_id"`
	Status   string `json:"status"` // completed, or stopped
	Stopped  string `json:"stopped,omitempty"`
	Response string `json:"response"`
	Output   any    `json:"output"`
	Cut      bool   `json:"cut,omitempty"`
	Steps    int    `json:"steps"`
}

// result is that of a call whose delegate's run is over.
func (d delegation) result(end core.ChildEnd) tool.Result {
	t := core.Termination{Type: core.TerminationError, Code: string(core.CodeInternal)}
	if end.Termination != nil {
		t = *end.Termination
	}
	a := answer{AgentID: d.agent.ID, Status: "completed", Response: end.Response, Output: d.output(end), Cut: end.Cut, Steps: end.Steps}
	var r tool.Result
	switch t.Type {
	case core.TerminationNatural, core.TerminationBehavior:
		r = tool.NewResult(a)
	case core.TerminationStopped:
		a.Status, a.Stopped = "stopped", t.Code
		r = tool.NewResult(a)
	case core.TerminationCancelled, core.TerminationSuperseded:
		r = d.failed("cancelled")
	case core.TerminationError:
		if t.Code == codeTimeout {
			r = d.failed("timed out")
			break
		}
		r = d.failed("failed: %s", reason(t.Code, t.Detail))
	default:
		r = d.failed("failed: %s", reason(string(t.Type), t.Code, t.Detail))
	}
	return r.WithMetadata("child_run_id", end.RunID)
}

// codeTimeout is the code of a run that did not finish a step within the time of a process.
const codeTimeout = "timeout"

// output is the answer of the delegate: JSON if its spec has a form for it.
func (d delegation) output(end core.ChildEnd) any {
	if text := []byte(end.Response); d.agent.Typed && !end.Cut && json.Valid(text) {
		return json.RawMessage(text)
	}
	return end.Response
}

func (d delegation) failed(format string, args ...any) tool.Result {
	return tool.Failed("delegation to " + d.agent.ID + " " + fmt.Sprintf(format, args...))
}

// reason joins the parts of a termination that are not empty.
func reason(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}
