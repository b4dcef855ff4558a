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

// agentEntry is an agent in the list of all. What makes it one (its system prompt, the
// settings of its plugins, the parameters of its model) is the deployment's own.
type agentEntry struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Model       string   `json:"model"`
	Default     bool     `json:"default,omitempty"` // it runs where a request names none
	Plugins     []string `json:"plugins"`
	Delegates   []string `json:"delegates"` // agents that it may call
	Tools       []string `json:"tools"`
}

// agentDetail is one agent, with its tools.
type agentDetail struct {
	ID          string              `json:"id"`
	Description string              `json:"description,omitempty"`
	Model       string              `json:"model"`
	Default     bool                `json:"default,omitempty"` // it runs where a request names none
	Plugins     []string            `json:"plugins"`
	Delegates   []string            `json:"delegates"` // agents that it may call
	Tools       []agentTool         `json:"tools"`
	MaxRounds   int                 `json:"max_rounds"` // steps of a run; 0: no limit
	Mode        agent.ExecutionMode `json:"execution_mode"`
}

// agentTool is a tool as the model is told of it.
type agentTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of its arguments
	Client      bool            `json:"client,omitempty"`     // the client runs it
}

type agentList struct {
	Agents []agentEntry `json:"agents"`
}

// capabilities are what the deployment is made of.
type capabilities struct {
	Agents    []string    `json:"agents"`
	Default   string      `json:"default_agent,omitempty"` // of requests that name none
	Tools     []namedTool `json:"tools"`
	Plugins   []string    `json:"plugins"`
	Models    []string    `json:"models"`
	Providers []string    `json:"providers"`
	Protocols []string    `json:"protocols"` // native, and where others are served
	// MaxRequests are under way at a time; absent: the transport has no bound of its own.
	MaxRequests int `json:"max_requests,omitempty"`
}

type namedTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Client      bool   `json:"client,omitempty"` // the client runs it
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
	protocol.JSON(w, http.StatusOK, detailOf(info))
	return nil
}

func detailOf(info host.AgentInfo) agentDetail {
	d := agentDetail{
		ID: info.ID, Description: info.Description, Model: info.Model, Default: info.Default, Plugins: some(info.Plugins), Delegates: some(info.Delegates),
		Tools: []agentTool{}, MaxRounds: info.MaxRounds, Mode: info.Mode,
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
		Protocols: []string{"native"}, MaxRequests: a.options.MaxRequests,
	}
	for _, t := range got.Tools {
		c.Tools = append(c.Tools, namedOf(t))
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
