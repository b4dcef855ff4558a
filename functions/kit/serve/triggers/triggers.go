// Package triggers has the function that starts runs for events, as a library. It is
// separate, because it links filters and templates, which steps do not need.
package triggers

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/keys"
	"github.com/reveille-run/reveille/functions/kit/internal/launch"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Main serves the events of all sources, and webhooks through an API Gateway. It queues runs
// but runs no steps, so it needs no models.
func Main(parts wiring.Parts) {
	c, rt := launch.Start("trigger", func(c *cloud.Function) (agent.Parts, error) { return wiring.Deployment{Parts: parts}.Idle(c.Settings) }, nil)
	handler, err := handle(c, rt)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handler)
}

// handle returns the handler of the triggers in REVEILLE_TRIGGERS.
func handle(c *cloud.Function, rt *host.Host) (func(context.Context, json.RawMessage) (any, error), error) {
	set, err := rules.New(c.Settings.Triggers, rules.Options{Runtime: rt, Tenant: c.Settings.EverybodysTenant(), Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	routes, err := set.Routes(rules.RouteOptions{Env: c.Env, Secret: os.Getenv, Source: new(keys.Keys).Settings(c).OpenSecret})
	if err != nil {
		return nil, err
	}
	return awslambda.Handlers{Env: c.Env, Logger: c.Logger}.Trigger(set, routes), nil
}
