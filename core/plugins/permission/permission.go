package permission

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// ID is the plugin's, by which agents name it.
const ID = "permission"

// Plugin decides about the calls of each agent that names it, by the agent's own
// [Section].
type Plugin struct{}

// ID implements plugin.Plugin.
func (Plugin) ID() string { return ID }

// Register implements plugin.Plugin.
func (Plugin) Register(r *plugin.Registrar) error {
	config, err := Section.Read(r)
	if err != nil {
		return err
	}
	p, err := config.compile()
	if err != nil {
		return err
	}
	for i, rule := range p.rules {
		r.ToolPattern(fmt.Sprintf("sections.%s.rules[%d].tool", Section.Name, i), rule.Tool, rule.pattern.MatchTool)
	}
	r.Key(ofRun)
	r.Key(ofThread)
	r.Key(usedUp)
	r.Gate(p.gate)
	r.OnRefusal(p.refused)
	if p.mayHide() {
		r.OnBeforeInference(p.hide)
	}
	return nil
}

// gate judges a call.
func (p *policy) gate(_ context.Context, g plugin.GateCall) (plugin.Verdict, error) {
	c, v, err := p.judged(g)
	if err != nil {
		return plugin.Verdict{}, err
	}
	switch {
	case v.Behavior == Deny && (p.OnDeny == FailCall || v.Source == fromAnswer):
		result := tool.Failed("denied: " + v.Why).ToolResult
		result.Status = core.ResultDenied
		return plugin.SetResult(result), nil
	case v.Behavior == Deny:
		return plugin.Block(fmt.Sprintf("permission denied for the tool %s: %s", g.Call.Name, v.Why)), nil
	case v.Behavior == Allow && g.Answer != nil:
		// A call that continued after a decision may also be allowed by an answer
		// remembered since; its own decision is remembered anyway.
		return plugin.Allow.With(remember(c, v, Allow, *g.Answer)).With(v.use()), nil
	case v.Behavior == Allow:
		return plugin.Allow.With(v.use()), nil
	}
	request, err := question(g.Call, v)
	if err != nil {
		return plugin.Verdict{}, err
	}
	asks := plugin.Suspend(request)
	if g.Answer != nil { // it was approved: the suspension counts as granted
		asks = asks.With(remember(c, v, Allow, *g.Answer))
	}
	return asks, nil
}

// refused remembers that a person has denied a call.
func (p *policy) refused(_ context.Context, g plugin.GateCall) (state.Command, error) {
	c, v, err := p.judged(g)
	if err != nil {
		return state.Command{}, err
	}
	return remember(c, v, Deny, *g.Answer), nil
}

// judged is the ruling about the call of a gate.
func (p *policy) judged(g plugin.GateCall) (call, ruling, error) {
	m, err := recall(g.Snapshot, g.Agent.ID)
	if err != nil {
		return call{}, ruling{}, err
	}
	prepare := func(c core.ToolCall) call {
		t, _ := g.Agent.Tool(c.Name)
		return prepared(g.Agent.ID, c, t.Parameters)
	}
	if p.once || m.once() {
		// A rule for one call applies to the first call that it decides about, also if
		// calls run in parallel and none sees yet that another has used it.
		for _, earlier := range g.Turn.ToolCalls[:min(g.CallIndex, len(g.Turn.ToolCalls))] {
			if v := p.judge(prepare(earlier), m); v.used != nil {
				m.use(v.used.id)
			}
		}
	}
	c := prepare(g.Call)
	return c, p.judge(c, m), nil
}

// confirm is the question to an approver.
type confirm struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Rule      string          `json:"rule,omitempty"` // that asks, if it is more than the tool's name
}

// question is the ticket of a call that needs approval.
func question(c core.ToolCall, v ruling) (core.TicketRequest, error) {
	asked := confirm{Tool: c.Name, Arguments: c.Arguments}
	if v.Rule != c.Name {
		asked.Rule = v.Rule
	}
	parameters, err := core.EncodeJSON(asked)
	return core.TicketRequest{
		Action: core.ActionConfirm, Message: "May the agent use the tool " + c.Name + "?", Parameters: parameters,
		Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}, err
}

// mayHide reports whether a tool may be denied for all arguments.
func (p *policy) mayHide() bool {
	for i := range p.rules {
		if r := &p.rules[i]; r.Behavior == Deny && r.pattern.AnyArguments() {
			return true
		}
	}
	return p.DefaultBehavior == Deny
}

// hide keeps from the model what it could only be denied.
func (p *policy) hide(_ context.Context, c plugin.BeforeInference) (state.Command, error) {
	m, err := recall(c.Snapshot, c.Agent.ID)
	if err != nil {
		return state.Command{}, err
	}
	var hidden state.Command
	for _, t := range c.Agent.Tools {
		if p.hides(t.Name, m) {
			hidden.Append(plugin.ExcludeTool.Schedule(t.Name))
		}
	}
	return hidden, nil
}

// hides reports whether every call of a tool is denied, with what is granted by now.
func (p *policy) hides(name string, m *memory) bool {
	passes := p.DefaultBehavior != Deny
	for _, rules := range [][]rule{p.rules, m.rules} {
		for i := range rules {
			switch r := &rules[i]; {
			case !r.pattern.MatchTool(name):
			case r.Behavior == Deny && r.pattern.AnyArguments():
				return true
			case r.Behavior != Deny:
				passes = true
			}
		}
	}
	return !passes
}
