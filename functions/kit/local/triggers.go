package local

import (
	"cmp"
	"log/slog"
	"os"

	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// openTriggers makes the triggers of REVEILLE_TRIGGERS, and puts their routes before the
// routes of the protocols: webhooks as on AWS, and for other sources a route to which you
// can send test events. Every run has the identity of all requests to this host.
func (h *localHost) openTriggers(e *env.Env, s settings.Settings, log *slog.Logger) error {
	var err error
	h.triggers, err = rules.New(s.Triggers, rules.Options{Runtime: h.runtime, Owner: &core.Identity{Tenant: tenant(s)}, Logger: log})
	if err != nil || h.handler == nil { // without an address, schedules alone
		return err
	}
	routes, err := h.triggers.Routes(rules.RouteOptions{Next: h.handler, Env: e, Secret: os.Getenv, Read: awslambda.ReadEvents})
	if err != nil {
		return err
	}
	h.handler = routes
	return nil
}

// tenant returns the tenant of this host.
func tenant(s settings.Settings) string { return cmp.Or(s.Identity.Tenant, localTenant) }
