// Package serve builds what the functions that take requests or steps share on
// AWS: the way to the store and the queue, and the runtime.
package serve

import (
	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/killpoints/inject"
)

// Runtime builds the runtime with the models that agents may use.
func Runtime(c *Cloud, models map[string]agent.ModelBinding) (*runtime.Runtime, error) {
	parts, err := app.Parts(models)
	if err != nil {
		return nil, err
	}
	if parts, err = inject.Parts(parts); err != nil {
		return nil, err
	}
	return runtime.Build(runtime.Config{
		Env: c.Env, Store: c.Store, Waker: c.Queue, Agents: parts, Logger: c.Logger,
		Due: dynamo.DuePolicy(), Worker: worker(c.Env), Lease: c.Settings.Lease, Steps: c.Settings.Steps, CacheSize: c.Settings.CacheSize,
	})
}

// worker names this sandbox in claims.
func worker(e *env.Env) string { return "lambda-" + e.NewID().String() }
