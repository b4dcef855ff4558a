package agent

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// ModelBinding is a model under the id that specs use.
type ModelBinding struct {
	Model model.Model
	Name  string // the provider's name of the model; empty: the id
	// Provider is the model's seller, for records of usage; empty: unknown.
	Provider string
	// Facts are the known facts of the model. Zero fields are the catalog's, see Parts.
	Facts model.Facts
}

// Parts are the parts of a registry: agents and models as data, and the code that they
// name. An id is given once, be it as code or as data.
type Parts struct {
	Specs      []Spec
	ModelSpecs []ModelSpec
	Pools      []ModelPoolSpec
	Providers  []ProviderSpec

	Models   map[string]ModelBinding                            // by the id that specs use
	Adapters map[string]func(ProviderSpec) (model.Model, error) // by the name that providers use, such as openai.Adapter; called once for each provider that an agent uses
	Tools    []tool.Tool                                        // open to every agent, as far as its spec allows
	Plugins  []plugin.Plugin                                    // each is named by one agent at least, where there are agents
	Stops    []StopPolicy                                       // of every agent, after those of its spec
	// Catalog has the known facts of models. A model without a window in its spec, its
	// binding and the catalog has UnknownWindow, and that is a warning. nil: nothing is
	// known, and no warning is given.
	Catalog *catalog.Catalog
	// UnknownWindow is the context window, in tokens, of a model without one:
	// 1,024 to 10,000,000; 0: 128,000. If the model refuses a request as too long, the
	// process uses the window that the refusal names, or 8,192 tokens, for an hour.
	UnknownWindow int
	// Default is the id of the agent of requests that name none. Empty: it is the only
	// spec; if there are several, such requests are refused.
	Default string
}

// Exposed is one thing that clients are offered to call: an agent, or a tool by itself.
type Exposed struct {
	Name        string // an agent's id or a tool's name; no two are the same
	Description string // the spec's
	Agent       string // id of the agent that runs: the agent's own, or of a tool "tool:" and its name
	// Parameters is the JSON Schema of a tool's arguments, which are the text of the
	// run's input. nil: it is an agent, and takes any text.
	Parameters json.RawMessage
	ReadOnly   bool // of a tool: its spec's
}
