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
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/aws/env/prices"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/adapters/outbound/eventbridge"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/announce"
	"github.com/reveille-run/reveille/functions/kit/internal/inject"
	"github.com/reveille-run/reveille/functions/kit/serve/cloud"
	"github.com/reveille-run/reveille/functions/kit/serve/keys"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Step serves the mailbox's queue: one step of a run for each message.
func Step(parts wiring.Parts, models wiring.Models) {
	var secrets keys.Keys
	c, rt := StartWith(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, secrets.Settings(c))
	}, func(c *cloud.Function) (mailbox.Publisher, error) { return publisher(c, secrets.Settings(c)) })
	handler := awslambda.StepHandler(awslambda.StepOptions{Worker: rt, Env: c.Env, Logger: c.Logger})
	lambda.Start(awslambda.AfterResponse(keys.Invocation(&secrets, handler), EndAbandoned(rt, c.Logger)))
}

// Start opens a function and builds its runtime of the agents, or ends the
// process. Package front does with it what [Step] does. What happens to runs is told by
// step functions alone.
func Start(agents func(*cloud.Function) (agent.Parts, error)) (*cloud.Function, *host.Host) {
	return StartWith(agents, func(*cloud.Function) (mailbox.Publisher, error) { return nil, nil })
}

// StartWith is Start for a function that tells what happens to runs.
func StartWith(agents func(*cloud.Function) (agent.Parts, error), publisher func(*cloud.Function) (mailbox.Publisher, error)) (*cloud.Function, *host.Host) {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	parts, err := agents(c)
	if err != nil {
		log.Fatal(err)
	}
	to, err := publisher(c)
	if err != nil {
		log.Fatal(err)
	}
	rt, err := build(c, parts, to)
	if err != nil {
		log.Fatal(err)
	}
	return c, rt
}

// build makes the runtime that the function serves.
func build(c *cloud.Function, agents agent.Parts, to mailbox.Publisher) (*host.Host, error) {
	config, err := configure(c, agents, to)
	if err != nil {
		return nil, err
	}
	return host.New(config)
}

// followFor is how long a stream that only follows goes on. Lambda does not show that a
// client has gone, so that a stream nobody reads would be paid for until its invocation
// ends; a client that is there connects again.
const followFor = 60 * time.Second

// configure is what a function gives its runtime. Its test holds each promise of the
// documents that is a line here.
func configure(c *cloud.Function, agents agent.Parts, to mailbox.Publisher) (host.Options, error) {
	metering, err := metering(c)
	if err != nil {
		return host.Options{}, err
	}
	config := host.Options{
		Env: c.Env, Store: c.Store, Waker: c.Queue, Agents: agents, Logger: c.Logger,
		Worker: worker(c.Env), Lease: c.Settings.Lease, Steps: c.Settings.Steps, CacheSize: c.Settings.CacheSize,
		FollowFor: followFor,
		Publisher: to, Announce: c.Settings.Announces(),
		Metering: metering,
	}
	err = wiring.Limit(&config, c.Settings)
	return config, err
}

// metering is what the settings say of recording what runs use. The units of the store,
// the queue's requests and the function's time have prices here.
func metering(c *cloud.Function) (*host.Metering, error) {
	m, err := wiring.Metering(c.Settings)
	if err != nil || m == nil {
		return nil, err
	}
	m.Memory, m.Rates = c.Settings.Memory, rates
	if c.Settings.Metrics {
		m.Ended = emf.New(os.Stdout)
	}
	return m, nil
}

func rates() (account.Rates, error) {
	table, err := prices.Default()
	return account.Rates{
		WriteUnits: table.Million.WriteUnits, ReadUnits: table.Million.ReadUnits,
		QueueRequests: table.Million.QueueRequests, GBSeconds: table.Million.GBSeconds,
	}, err
}

// publisher makes what the settings ask for.
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

// worker names this sandbox in claims.
func worker(e *env.Env) string { return "lambda-" + e.NewID().String() }
