// Package serve has the functions on AWS, as a library. A main calls the kind of its function
// with the agents, models and protocols of the deployment.
//
//	func main() { serve.Step(app.Parts, models.Bind) }
//
// There is a function for each kind: [Step] here, Stream and API in package serve/front,
// which links the protocols, and Main in package serve/sweep, which links no agent. Each
// reads the environment (package settings), builds its handler and starts the Lambda
// runtime. It returns only when that ends. A mistake in the environment or in the agents
// ends the process at start with one line that names the mistake.
package serve

import (
	"github.com/aws/aws-lambda-go/lambda"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/outbound/eventbridge"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/announce"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/inject"
	"github.com/reveille-run/reveille/functions/kit/internal/keys"
	"github.com/reveille-run/reveille/functions/kit/internal/launch"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Step serves the queue of the mailbox: one step of a run for each message.
func Step(parts wiring.Parts, models wiring.Models) {
	var secrets keys.Keys
	c, rt := launch.Start("step", func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, secrets.Settings(c))
	}, func(c *cloud.Function) (mailbox.Publisher, error) { return publisher(c, secrets.Settings(c)) })
	handler := awslambda.Handlers{Env: c.Env, Logger: c.Logger}.Step(rt.WorkBatch)
	lambda.Start(awslambda.AfterResponse(keys.Invocation(&secrets, handler), launch.EndAbandoned(rt, c.Logger)))
}

// publisher returns the publisher of the settings.
func publisher(c *cloud.Function, s settings.Settings) (mailbox.Publisher, error) {
	hook, err := announce.Webhook(s, c.Env, inject.Loopback())
	if err != nil || c.Settings.EventBus == "" {
		return hook, err
	}
	bus, err := eventbridge.New(awsenv.Config{}, c.Env, c.Settings.EventBus)
	if err != nil {
		return nil, err
	}
	return announce.All(hook, bus), nil
}
