// Package models is the place to edit for models: it binds the ids that agent
// specs use to providers. Only the functions that run steps link it.
package models

import (
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/providers"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Default is the id of the only model that [Bind] binds. Add other models next to it.
const Default = "default"

// Bind returns the models by the id that specs use. The default model is the model of
// REVEILLE_MODEL, else the default model of the provider whose key is set, else the scripted
// model; see package providers. Models in spec files can use the adapters of all linked
// providers.
func Bind(e *env.Env, s settings.Settings) (wiring.Bound, error) {
	bound, err := providers.Bind(e, s)
	if err != nil {
		return wiring.Bound{}, err
	}
	return wiring.Bound{Models: map[string]agent.ModelBinding{Default: bound}, Adapters: providers.Adapters()}, nil
}
