package wiring

import (
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
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/internal/inject"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

type (
	// Parts makes the agents, such as app.Parts. models are those that agents may
	// use, by the id that specs name; it is never nil, but empty where no step runs.
	Parts func(models map[string]agent.ModelBinding) (agent.Parts, error)
	// Models makes the models, such as Bind of package app/models.
	Models func(*env.Env, settings.Settings) (Bound, error)
	// Web mounts the protocols on one handler, such as Handler of package app/web.
	Web func(WebOptions) http.Handler
)

// Bound is what calls models. Neither is changed.
type Bound struct {
	Models map[string]agent.ModelBinding // by the id that specs name
	// Adapters make the clients of providers that are data, by what specs of providers call
	// them. Parts may have more, which count before these.
	Adapters map[string]func(agent.ProviderSpec) (model.Model, error)
}

// Deployment is what a main gives. A nil field is one that the kind of function
// does not need.
type Deployment struct {
	Parts  Parts
	Models Models
	Web    Web
}

// WebOptions is what a [Web] mounts its handlers with. Runtime and
// Authenticate are never nil.
type WebOptions struct {
	Runtime *host.Host
	// Authenticate says who sent a request. A handler of one's own that needs to
	// know calls it.
	Authenticate func(*http.Request) (core.Identity, error)
	Buffered     bool         // the transport cannot stream
	StreamURL    string       // base address of the function that can; empty: a path alone
	Page         bool         // the page is shown at /
	MaxRequests  int          // that the transport has under way at a time, for /v1/capabilities; 0: it does not say
	UsageReaders []string     // users who see what their whole tenant has used; "*": all
	Logger       *slog.Logger // nil: slog.Default
}

// With returns a deployment whose parts are those that change returns for the parts of d.
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

// Agents makes the models and of them the agents, for a process that runs steps.
// What is missing or broken is found when the runtime is built.
func (d Deployment) Agents(e *env.Env, s settings.Settings) (agent.Parts, error) {
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
	if parts.Catalog == nil {
		if parts.Catalog, err = limits.Catalog(s); err != nil {
			return agent.Parts{}, err
		}
	}
	return inject.Parts(parts)
}

// keyed gives providers that are data the keys that the environment has for them, under the
// names of variables that they say. One that is not set is found when agents are resolved.
func keyed(providers []agent.ProviderSpec) []agent.ProviderSpec {
	providers = slices.Clone(providers)
	for i, p := range providers {
		if p.APIKeyEnv != "" && p.APIKey.IsZero() {
			providers[i].APIKey = secret.New(os.Getenv(p.APIKeyEnv))
		}
	}
	return providers
}

// Idle makes the agents for a process that runs no steps, so that it links no
// provider: whatever model a spec names is bound to model.None, and so is whatever
// adapter a provider names.
func (d Deployment) Idle() (agent.Parts, error) {
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
	return inject.Parts(parts)
}

// bindNone binds what is neither bound nor data.
func bindNone(models map[string]agent.ModelBinding, data map[string]bool, id string) {
	if _, bound := models[id]; !bound && !data[id] {
		models[id] = agent.ModelBinding{Model: model.None{}}
	}
}
