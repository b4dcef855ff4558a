// Package binding gives the demo its scripted model in any environment. Tests use it, since
// its responses are known.
package binding

import (
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Bind returns the scripted model under the id that the demo agent names.
func Bind(e *env.Env, _ settings.Settings) (wiring.Bound, error) {
	return wiring.Bound{Models: map[string]agent.ModelBinding{demo.Model: {Model: scripted.New(e), Name: "scripted", Provider: "scripted"}}}, nil
}
