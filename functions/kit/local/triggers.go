package local

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/triggers/incoming"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/adapters/triggers/webhook"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// openTriggers makes the triggers of REVEILLE_TRIGGERS, and puts their routes before
// those of the protocols: webhooks as on AWS, and for the other sources events that
// somebody plays in. Every run is of the identity that every request has here.
func (h *localHost) openTriggers(e *env.Env, s settings.Settings, log *slog.Logger) error {
	all, err := rules.Read(s.Triggers)
	if err != nil {
		return err
	}
	h.triggers, err = rules.New(all, rules.Options{Runtime: h.runtime, Everybody: &core.Identity{Tenant: tenant(s)}, Logger: log})
	if err != nil || h.handler == nil { // without an address, schedules alone
		return err
	}
	routes, err := webhook.New(webhook.Options{Triggers: h.triggers, Env: e, Secret: os.Getenv, Read: awslambda.ReadEvents, Logger: log})
	if err != nil {
		return err
	}
	h.handler = webhook.Before(h.handler, routes)
	return nil
}

// tenant owns everything on this host.
func tenant(s settings.Settings) string { return cmp.Or(s.Identity.Tenant, localTenant) }

// keepTime starts a clock for each trigger that has a schedule.
func (h *localHost) keepTime(ctx context.Context, e *env.Env) {
	for _, t := range h.triggers.Triggers() {
		if t.Source != incoming.Schedule || t.Schedule == "" {
			continue
		}
		schedule, err := rules.ParseSchedule(t.Schedule)
		if err != nil { // which rules.New has refused
			h.log.Error("schedule", "trigger", t.Name, "error", err)
			continue
		}
		c := clock{Firer: h.triggers, env: e, log: h.log, trigger: t.Name, schedule: schedule}
		h.wait.Go(func() { c.run(ctx) })
	}
}

const (
	// longestNap is how long a clock sleeps before it looks again: the host's own may be
	// set meanwhile, or the machine sleep.
	longestNap = 30 * time.Second
	// latest is how late a moment may be found and still counts. Older ones are not made
	// up for.
	latest = time.Minute
)

// clock fires one trigger by its schedule.
type clock struct {
	incoming.Firer
	env      *env.Env
	log      *slog.Logger
	trigger  string
	schedule rules.Schedule
}

// run goes from moment to moment until ctx is done.
func (c clock) run(ctx context.Context) {
	for {
		next, err := c.schedule.Next(c.env.Now())
		if err != nil {
			c.log.Warn("schedule has ended", "trigger", c.trigger, "error", err)
			return
		}
		if !c.sleep(ctx, next) {
			return
		}
		if late := c.env.Now().Sub(next); late > latest {
			c.log.Warn("schedule's moment was missed", "trigger", c.trigger, "time", next, "late", late)
			continue
		}
		if err := c.fire(ctx, next); err != nil {
			c.log.Error("schedule's run was not started", "trigger", c.trigger, "time", next, "error", err)
		}
	}
}

// sleep reports whether the moment came before ctx was done.
func (c clock) sleep(ctx context.Context, until time.Time) bool {
	for {
		left := until.Sub(c.env.Now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(min(left, longestNap))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// fire gives the trigger the event that a schedule on AWS would send.
func (c clock) fire(ctx context.Context, moment time.Time) error {
	payload, err := json.Marshal(struct {
		Trigger string    `json:"trigger"`
		Time    time.Time `json:"time"`
	}{c.trigger, moment})
	if err != nil {
		return err
	}
	events, err := awslambda.ReadEvents(payload)
	if err != nil {
		return err
	}
	_, err = c.Fire(ctx, events[0])
	return err
}
