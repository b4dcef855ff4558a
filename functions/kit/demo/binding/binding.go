// Package binding gives the demo its scripted model, whatever the environment
// says: what it comes to is known, so tests use it.
package binding

import (
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Bind returns the scripted model under the demo agent's id of it.
func Bind(e *env.Env, _ settings.Settings) (wiring.Bound, error) {
	return wiring.Bound{Models: map[string]agent.ModelBinding{demo.Model: {Model: scripted.New(e), Name: "scripted", Provider: "scripted"}}}, nil
}
