package wiring

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/internal/environment"
	"github.com/reveille-run/reveille/functions/kit/internal/inject"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

type (
	// Parts makes the agents, such as app.Parts. models are the models that agents may use,
	// by the id that specs name. It is never nil, but empty in a process that runs no steps.
	Parts func(models map[string]agent.ModelBinding) (agent.Parts, error)
	// Models makes the models, such as Bind of package app/models.
	Models func(*env.Env, settings.Settings) (Bound, error)
	// Web mounts the protocols on one handler, such as Handler of package app/web.
	Web func(WebOptions) http.Handler
)

// Bound has the models and adapters of a deployment. Its maps are not changed.
type Bound struct {
	Models map[string]agent.ModelBinding // by the id that specs name
	// Adapters make the clients of providers in spec files, by the names in those specs. An
	// adapter of Parts replaces the adapter here with the same name.
	Adapters map[string]func(agent.ProviderSpec) (model.Model, error)
}

// Deployment is the argument of a main. A field is nil if the kind of function does not need
// it.
type Deployment struct {
	Parts  Parts
	Models Models
	Web    Web
}

// WebOptions are the options of a [Web]. Runtime and Authenticate are never nil.
type WebOptions struct {
	Runtime *host.Host
	// Authenticate returns the identity of the sender of a request. Your own handlers can
	// call it too.
	Authenticate func(*http.Request) (core.Identity, error)
	Buffered     bool         // the transport cannot stream
	StreamURL    string       // base address of the function that streams; empty: stream addresses are paths
	Page         bool         // shows the page at /
	ShowModels   bool         // shows providers, names and prices of models
	ShowRequests bool         // shows owners of threads the requests that models received
	MaxRequests  int          // the limit of concurrent requests, for /v1/capabilities; 0: not shown
	MaxBody      int          // the most bytes of a request's body; 0: 4 MB
	UsageReaders []string     // users who can read the usage of their whole tenant; "*": all users
	Logger       *slog.Logger // nil: slog.Default()
}

// With returns a deployment with the parts that change returns for the parts of d.
func (d Deployment) With(change func(agent.Parts) agent.Parts) Deployment {
	parts := d.Parts
	d.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		made, err := parts(models)
		if err != nil {
			return agent.Parts{}, err
		}
		return change(made), nil
	}
	return d
}

// Agents makes the models and the agents, for a process that runs steps. Before, it sets the
// variables of the file REVEILLE_ENVIRONMENT. A mistake in the agents is found later, when
// the runtime is built.
func (d Deployment) Agents(e *env.Env, s settings.Settings) (agent.Parts, error) {
	if err := environment.Load(s); err != nil {
		return agent.Parts{}, err
	}
	bound, err := d.Models(e, s)
	if err != nil {
		return agent.Parts{}, err
	}
	if bound.Models == nil {
		bound.Models = map[string]agent.ModelBinding{}
	}
	parts, err := d.Parts(bound.Models)
	if err != nil {
		return agent.Parts{}, err
	}
	adapters := map[string]func(agent.ProviderSpec) (model.Model, error){}
	maps.Copy(adapters, bound.Adapters)
	maps.Copy(adapters, parts.Adapters)
	parts.Adapters, parts.Providers = adapters, keyed(parts.Providers)
	parts.UnknownWindow = cmp.Or(parts.UnknownWindow, s.Unknown)
	if parts.Catalog == nil {
		if parts.Catalog, err = limits.Catalog(s); err != nil {
			return agent.Parts{}, err
		}
	}
	return inject.Parts(delegate.In(parts))
}

// keyed returns providers with their keys from the environment variables that they name. A
// missing key is found when agents are resolved.
func keyed(providers []agent.ProviderSpec) []agent.ProviderSpec {
	providers = slices.Clone(providers)
	for i, p := range providers {
		if p.APIKeyEnv != "" && p.APIKey.IsZero() {
			providers[i].APIKey = secret.New(os.Getenv(p.APIKeyEnv))
		}
	}
	return providers
}

// Idle makes the agents for a process that runs no steps and links no provider. Every model
// and every adapter that a spec names is bound to model.None. Before, it sets the variables
// of the file REVEILLE_ENVIRONMENT, as Agents does.
func (d Deployment) Idle(s settings.Settings) (agent.Parts, error) {
	if err := environment.Load(s); err != nil {
		return agent.Parts{}, err
	}
	parts, err := d.Parts(map[string]agent.ModelBinding{})
	if err != nil {
		return agent.Parts{}, err
	}
	models := map[string]agent.ModelBinding{}
	maps.Copy(models, parts.Models)
	data := map[string]bool{"": true} // models that need no binding
	for _, m := range parts.ModelSpecs {
		data[m.ID] = true
	}
	for _, p := range parts.Pools {
		data[p.ID] = true
	}
	for _, p := range parts.Pools {
		for _, m := range p.Members {
			bindNone(models, data, m.Model)
		}
	}
	for _, spec := range parts.Specs {
		bindNone(models, data, spec.Model)
	}
	parts.Models = models
	parts.Adapters = map[string]func(agent.ProviderSpec) (model.Model, error){}
	parts.Providers = slices.Clone(parts.Providers)
	for i, p := range parts.Providers {
		parts.Providers[i].APIKeyEnv = "" // no key is needed, and none is set
		parts.Adapters[p.Adapter] = func(agent.ProviderSpec) (model.Model, error) { return model.None{}, nil }
	}
	return inject.Parts(delegate.In(parts))
}

// bindNone binds a model that is neither bound nor in a spec file.
func bindNone(models map[string]agent.ModelBinding, data map[string]bool, id string) {
	if _, bound := models[id]; !bound && !data[id] {
		models[id] = agent.ModelBinding{Model: model.None{}}
	}
}
