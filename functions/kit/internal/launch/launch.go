// Package launch makes of a function on AWS the runtime that it serves. What is wrong with
// the environment or the agents ends the process with one line that says so.
package launch

import (
	"log"
	"os"
	"time"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/usage"
)

// Start opens a function and builds its runtime of the agents, or ends the process.
// publisher makes what announcements of runs go to; nil: the function announces nothing.
func Start(agents func(*cloud.Function) (agent.Parts, error), publisher func(*cloud.Function) (mailbox.Publisher, error)) (*cloud.Function, *host.Host) {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	parts, err := agents(c)
	if err != nil {
		log.Fatal(err)
	}
	var to mailbox.Publisher
	if publisher != nil {
		if to, err = publisher(c); err != nil {
			log.Fatal(err)
		}
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
	err = usage.Limit(&config, c.Settings)
	return config, err
}

// metering is what the settings say of recording what runs use. The units of the store,
// the queue's requests and the function's time have prices here.
func metering(c *cloud.Function) (*host.Metering, error) {
	m, err := usage.Metering(c.Settings)
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

// worker names this sandbox in claims.
func worker(e *env.Env) string { return "lambda-" + e.NewID().String() }
