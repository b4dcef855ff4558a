package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/tool"
)

// agentEntry is an agent in the list of all. It omits the system prompt, the settings of
// plugins and the parameters of the model, which are the deployment's own.
type agentEntry struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Model       string   `json:"model"`
	Default     bool     `json:"default,omitempty"` // requests without an agent use this one
	Plugins     []string `json:"plugins"`
	Delegates   []string `json:"delegates"` // agents that this agent may call
	Tools       []string `json:"tools"`
	agentModels
	Answers []answeringModel `json:"answers,omitempty"` // models that respond, in the order of a pool; absent if the deployment hides them
}

// agentModels is what holds for all models of an agent.
type agentModels struct {
	// ContextWindow is how many tokens a request may have; absent: it is unknown.
	ContextWindow int  `json:"context_window,omitempty"`
	Assumed       bool `json:"window_assumed,omitempty"` // the model is unknown, and context_window is an assumption
	// Inputs are the kinds of files that the models accept: image, document, audio; absent: none is known.
	Inputs []string `json:"inputs,omitempty"`
}

// answeringModel is a model that responds to an agent.
type answeringModel struct {
	Model    string `json:"model"`    // id of the model in specs
	Provider string `json:"provider"` // id of the provider; empty: none
	Name     string `json:"name"`     // the provider's name of the model
	Scripted bool   `json:"scripted"` // the model follows rules, without a provider
	// Window is how many tokens request and turn may have together; absent: it is unknown.
	Window  int      `json:"context_window,omitempty"`
	Assumed bool     `json:"window_assumed,omitempty"`   // the model is unknown, and context_window is an assumption
	Inputs  []string `json:"inputs,omitempty"`           // kinds of files that the model accepts: image, document, audio; absent: none is known
	Levels  []string `json:"reasoning_levels,omitempty"` // levels of reasoning from the lowest, by the provider's names; absent: unknown
}

// pricedModel is an answeringModel with its prices of today.
type pricedModel struct {
	answeringModel
	Input  *core.USD `json:"input_usd_per_million"`  // null: the price is unknown
	Output *core.USD `json:"output_usd_per_million"` // null: the price is unknown
}

// agentDetail is one agent, with its tools.
type agentDetail struct {
	ID          string              `json:"id"`
	Description string              `json:"description,omitempty"`
	Model       string              `json:"model"`
	Default     bool                `json:"default,omitempty"` // requests without an agent use this one
	Plugins     []string            `json:"plugins"`
	Delegates   []string            `json:"delegates"` // agents that this agent may call
	Tools       []agentTool         `json:"tools"`
	MaxRounds   int                 `json:"max_rounds"` // maximum steps of a run; 0: no limit
	Mode        agent.ExecutionMode `json:"execution_mode"`
	agentModels
	Answers []answeringModel `json:"answers,omitempty"` // models that respond, in the order of a pool; absent if the deployment hides them
}

// agentTool is a tool as the model sees it.
type agentTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Client      bool            `json:"client,omitempty"`     // the client runs the tool
}

type agentList struct {
	Agents []agentEntry `json:"agents"`
}

// capabilities lists the parts of the deployment.
type capabilities struct {
	Agents    []string    `json:"agents"`
	Default   string      `json:"default_agent,omitempty"` // the agent of requests without an agent
	Tools     []namedTool `json:"tools"`
	Plugins   []string    `json:"plugins"`
	Models    []string    `json:"models"`
	Providers []string    `json:"providers"`
	Protocols []string    `json:"protocols"` // native, and the path of each mounted protocol
	// MaxRequests is the number of requests that run concurrently; absent: no limit.
	MaxRequests int              `json:"max_requests,omitempty"`
	Limits      capabilityLimits `json:"limits"`
	// Answers are the models that agents may call; absent if the deployment hides them.
	Answers []pricedModel `json:"answers,omitempty"`
}

// capabilityLimits are limits of requests.
type capabilityLimits struct {
	MaxBody int `json:"max_body"` // the most bytes of a request's body
}

type namedTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Client      bool   `json:"client,omitempty"` // the client runs the tool
}

func (a *api) getAgents(w http.ResponseWriter, r *http.Request, _ core.Identity) error {
	if _, err := query(r.URL.RawQuery); err != nil {
		return err
	}
	list := agentList{Agents: []agentEntry{}}
	for _, info := range a.Host.Agents() {
		e := agentEntry{ID: info.ID, Description: info.Description, Model: info.Model, Default: info.Default, Plugins: some(info.Plugins), Delegates: some(info.Delegates), Tools: []string{}}
		for _, t := range info.Tools {
			e.Tools = append(e.Tools, t.Name)
		}
		e.agentModels, e.Answers = modelsOf(info), a.answers(info.Answers)
		list.Agents = append(list.Agents, e)
	}
	protocol.JSON(w, http.StatusOK, list)
	return nil
}

func (a *api) getAgent(w http.ResponseWriter, r *http.Request, _ core.Identity) error {
	if _, err := query(r.URL.RawQuery); err != nil {
		return err
	}
	info, err := a.Host.Agent(r.PathValue("agent"))
	if err != nil {
		return err
	}
	d := detailOf(info)
	d.Answers = a.answers(info.Answers)
	protocol.JSON(w, http.StatusOK, d)
	return nil
}

// answers are the models as callers see them; nil if the deployment hides them.
func (a *api) answers(all []host.Answer) (shown []answeringModel) {
	if !a.options.ShowModels {
		return nil
	}
	for _, m := range all {
		shown = append(shown, answeringModel{m.Model, m.Provider, m.Name, m.Scripted, m.ContextWindow, m.Assumed, m.Inputs, m.Levels})
	}
	return shown
}

func modelsOf(info host.AgentInfo) agentModels {
	return agentModels{info.ContextWindow, info.Assumed, info.Inputs}
}

func detailOf(info host.AgentInfo) agentDetail {
	d := agentDetail{
		ID: info.ID, Description: info.Description, Model: info.Model, Default: info.Default, Plugins: some(info.Plugins), Delegates: some(info.Delegates),
		Tools: []agentTool{}, MaxRounds: info.MaxRounds, Mode: info.Mode, agentModels: modelsOf(info),
	}
	for _, t := range info.Tools {
		d.Tools = append(d.Tools, agentTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Client: t.Client})
	}
	return d
}

func (a *api) getCapabilities(w http.ResponseWriter, r *http.Request, _ core.Identity) error {
	if _, err := query(r.URL.RawQuery); err != nil {
		return err
	}
	got := a.Host.Capabilities()
	c := capabilities{
		Agents: some(got.Agents), Default: got.Default, Tools: []namedTool{}, Plugins: some(got.Plugins), Models: some(got.Models), Providers: some(got.Providers),
		Protocols: []string{"native"}, MaxRequests: a.options.MaxRequests, Limits: capabilityLimits{MaxBody: a.maxBody()},
	}
	for _, t := range got.Tools {
		c.Tools = append(c.Tools, namedOf(t))
	}
	for i, m := range a.answers(got.Answers) {
		c.Answers = append(c.Answers, pricedModel{m, got.Answers[i].Input, got.Answers[i].Output})
	}
	for pattern := range a.options.Mounts {
		if at := pattern[strings.LastIndexByte(pattern, ' ')+1:]; !slices.Contains(c.Protocols, at) {
			c.Protocols = append(c.Protocols, at)
		}
	}
	slices.Sort(c.Protocols[1:])
	protocol.JSON(w, http.StatusOK, c)
	return nil
}

func namedOf(t tool.Spec) namedTool {
	return namedTool{Name: t.Name, Description: t.Description, Client: t.Client}
}

// some is [] and not null, for clients that iterate.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
