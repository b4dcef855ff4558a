// Package launch builds the runtime of a function on AWS. A mistake in the environment or in
// the agents ends the process with one line that names the mistake.
package launch

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/usage"
)

// Start opens a function of a kind, such as step, and builds its runtime with the agents, or
// ends the process. publisher makes the receiver of announcements; nil: the function announces nothing.
func Start(kind string, agents func(*cloud.Function) (agent.Parts, error), publisher func(*cloud.Function) (mailbox.Publisher, error)) (*cloud.Function, *host.Host) {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	c.Kind = kind
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

// followFor is the maximum time of a stream that only follows. Lambda does not report that a
// client has disconnected, so a stream without a client would cost money until its
// invocation ends. A client that is still connected reconnects.
const followFor = 60 * time.Second

// configure returns the options of the runtime. Its test checks each line that a document
// promises.
func configure(c *cloud.Function, agents agent.Parts, to mailbox.Publisher) (host.Options, error) {
	metering, err := metering(c)
	if err != nil {
		return host.Options{}, err
	}
	lines := write(os.Stdout, c, metering)
	config := host.Options{
		Env: c.Env, Store: c.Store, Waker: c.Queue, Agents: agents, Logger: c.Logger,
		Worker: worker(), Lease: c.Settings.Lease, Steps: c.Settings.Steps, CacheSize: c.Settings.CacheSize,
		FollowFor: followFor,
		Publisher: to, Announce: c.Settings.Announces(),
		Metering: metering, Report: func(r host.StepReport) { report(lines, r) }, Quarantined: lines.Quarantined,
	}
	err = usage.Limit(&config, c.Settings)
	return config, err
}

// metering returns how usage is recorded, by the settings. The units of the store, the
// requests of the queue and the time of the function have prices.
func metering(c *cloud.Function) (*host.Metering, error) {
	m, err := usage.Metering(c.Settings)
	if err != nil || m == nil {
		return nil, err
	}
	m.Memory, m.Rates = c.Settings.Memory, rates
	return m, nil
}

func rates() (account.Rates, error) {
	table, err := prices.Default()
	return account.Rates{
		WriteUnits: table.Million.WriteUnits, ReadUnits: table.Million.ReadUnits,
		QueueRequests: table.Million.QueueRequests, GBSeconds: table.Million.GBSeconds,
	}, err
}

// worker names this sandbox in claims. The name is no secret: it is made without the
// cryptographic source, whose first use is a hundredth of a start.
func worker() string { return fmt.Sprintf("lambda-%016x%016x", rand.Uint64(), rand.Uint64()) }
