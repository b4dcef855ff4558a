// Package serve is the functions on AWS as a library: a main names the kind of its
// function and gives it the agents, models and protocols of the deployment.
//
//	func main() { serve.Step(app.Parts, models.Bind) }
//
// There is a function for each kind: [Step] here, Stream and API in package
// serve/front, which links the protocols, and Main in package serve/sweep, which
// links no agent. Each reads the environment (package
// settings), builds what it serves, and hands it to the Lambda runtime; it returns
// only when that ends. What is wrong with the environment or the agents ends the
// process at start with one line that says so.
package serve

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/functions/serve/cloud"
	"github.com/reveille-run/reveille/functions/wiring"
)

// Step serves the mailbox's queue: one step of a run for each message.
func Step(parts wiring.Parts, models wiring.Models) {
	c, rt := Start(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, c.Settings)
	})
	handler := awslambda.StepHandler(awslambda.StepOptions{Worker: rt, Env: c.Env, Logger: c.Logger})
	lambda.Start(awslambda.AfterResponse(handler, EndAbandoned(rt, c.Logger)))
}

// Start opens a function and builds its runtime of the agents, or ends the
// process. Package front does with it what [Step] does.
func Start(agents func(*cloud.Function) (agent.Parts, error)) (*cloud.Function, *runtime.Runtime) {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	parts, err := agents(c)
	if err != nil {
		log.Fatal(err)
	}
	rt, err := build(c, parts)
	if err != nil {
		log.Fatal(err)
	}
	return c, rt
}

// build makes the runtime that the function serves.
func build(c *cloud.Function, agents agent.Parts) (*runtime.Runtime, error) {
	return runtime.Build(runtime.Config{
		Env: c.Env, Store: c.Store, Waker: c.Queue, Agents: agents, Logger: c.Logger,
		Worker: worker(c.Env), Lease: c.Settings.Lease, Steps: c.Settings.Steps, CacheSize: c.Settings.CacheSize,
	})
}

// worker names this sandbox in claims.
func worker(e *env.Env) string { return "lambda-" + e.NewID().String() }
