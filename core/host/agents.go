package host

import (
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// AgentInfo describes an agent to its clients. It omits the system prompt, the settings of
// plugins and the parameters of the model: they are the deployment's.
type AgentInfo struct {
	ID          string
	Description string
	Model       string
	Default     bool // it serves requests that name no agent
	Plugins     []string
	Delegates   []string            // agents that it may call
	Tools       []tool.Spec         // by name, as the model sees them
	MaxRounds   int                 // steps of a run; 0: no limit
	Mode        agent.ExecutionMode // never empty
	// ContextWindow is how many tokens a request of the agent may have; 0: it is not known.
	ContextWindow int
	Assumed       bool // ContextWindow is an assumption: nothing is known of the model
	// Inputs are the kinds of files that each model of the agent accepts: image, document,
	// audio. Empty: none is known.
	Inputs []string
	// Answers are the models that the agent may call: its model, or the members of its pool.
	// It is empty in a process that links no models.
	Answers []Answer
}

// Answer is a model that responds to an agent.
type Answer struct {
	Model    string // its id in specs
	Provider string // empty: a model bound in code without one
	Name     string // the provider's name of the model
	Scripted bool   // it follows rules, without a provider: see package scripted
	// ContextWindow is how many tokens its request and turn may have together; 0: it is not
	// known. Assumed: it is an assumption.
	ContextWindow int
	Assumed       bool
	Inputs        []string // kinds of files that it accepts: image, document, audio; empty: none is known
	Levels        []string // its levels of reasoning, from the lowest, by the provider's names; empty: not known
	// Input and Output are the prices of a million tokens today; nil: they are not known.
	Input, Output *core.USD
}

// Agents lists the registered agents, ordered by id.
func (r *Host) Agents() []AgentInfo {
	var all []AgentInfo
	for _, id := range r.agents.IDs() {
		if info, err := r.Agent(id); err == nil {
			all = append(all, info)
		}
	}
	return all
}

// Agent returns one registered agent; its error is core.CodeNotFound for an unknown id.
func (r *Host) Agent(id string) (AgentInfo, error) {
	resolved, err := r.agents.Resolve(id)
	if err != nil {
		return AgentInfo{}, core.Errorf(core.CodeNotFound, "agent %q not found", core.Excerpt(id))
	}
	spec := resolved.Spec
	info := AgentInfo{
		ID: spec.ID, Description: spec.Description, Model: spec.Model, Default: r.agents.Default() == spec.ID,
		Plugins: spec.Plugins, Delegates: spec.Delegates, MaxRounds: spec.Rounds(), Mode: spec.ExecutionMode,
		ContextWindow: resolved.Room().Request,
	}
	level := resolved.Level()
	info.Assumed, info.Inputs = level.Assumed, level.Inputs
	for _, bound := range resolved.CallableModels() {
		if _, none := bound.Model.(model.None); !none {
			info.Answers = append(info.Answers, r.answer(bound))
		}
	}
	if info.Mode == "" {
		info.Mode = agent.Sequential
	}
	// The order is that in which the model is sent them.
	for _, definition := range resolved.ModelTools {
		if t, ok := resolved.Tools[definition.Name]; ok {
			info.Tools = append(info.Tools, t.Spec())
		}
	}
	return info, nil
}

// answer describes a model, with its prices of today. The prices are those of the catalog with
// which usage is metered, so that a client's estimate and the report of the usage agree. A
// price is for the provider's name of the model: a hook that asks for another model by name
// is charged by that one.
func (r *Host) answer(bound *registry.BoundModel) Answer {
	follows, ok := bound.Model.(interface{ Scripted() bool })
	a := Answer{
		Model: bound.ID, Provider: bound.Provider, Name: bound.Name, Scripted: ok && follows.Scripted(),
		ContextWindow: bound.ContextWindow, Assumed: bound.Assumed, Inputs: bound.Inputs, Levels: bound.Levels,
	}
	const million = 1_000_000
	now := r.env.Now()
	if cost, known := r.prices.Cost(bound.Provider, bound.Name, core.Usage{Input: million}, now); known {
		a.Input = &cost
	}
	if cost, known := r.prices.Cost(bound.Provider, bound.Name, core.Usage{Output: million}, now); known {
		a.Output = &cost
	}
	return a
}

// Capabilities lists the parts of a deployment, by name.
type Capabilities struct {
	Agents    []string
	Default   string // empty: requests must name an agent
	Tools     []tool.Spec
	Plugins   []string
	Models    []string // and pools
	Providers []string
	Answers   []Answer // the models that agents may call
}

// Capabilities lists the registered agents, plugins, models and providers, and the tools
// that at least one agent has, ordered by name.
func (r *Host) Capabilities() Capabilities {
	// Tools belong to agents; two agents may have one under the same name, which is listed
	// once.
	c := Capabilities{Agents: r.agents.IDs(), Default: r.agents.Default(), Plugins: r.agents.Plugins(), Models: r.agents.Models(), Providers: r.agents.Providers()}
	seen, answers := map[string]bool{}, map[string]bool{}
	for _, a := range r.Agents() {
		for _, answer := range a.Answers {
			if !answers[answer.Model] {
				answers[answer.Model] = true
				c.Answers = append(c.Answers, answer)
			}
		}
		for _, t := range a.Tools {
			if !seen[t.Name] {
				seen[t.Name] = true
				c.Tools = append(c.Tools, t)
			}
		}
	}
	slices.SortFunc(c.Tools, func(a, b tool.Spec) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Answers, func(a, b Answer) int { return strings.Compare(a.Model, b.Model) })
	return c
}

// HasAgent reports whether the agent is registered.
func (r *Host) HasAgent(id string) bool { return r.agents.Has(id) }

// DefaultAgent returns the id of the agent that serves requests without one: that of
// agent.Parts.Default, or the only one. Empty: such requests are refused.
func (r *Host) DefaultAgent() string { return r.agents.Default() }

// Exposed returns the agents, and the tools by themselves, that clients may call.
func (r *Host) Exposed() []agent.Exposed { return r.agents.Exposed() }
