// Package serve builds what the functions that take requests or steps share on
// AWS: the runtime, and who may ask.
package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/killpoints/inject"
	"github.com/reveille-run/reveille/functions/settings"
)

// followFor ends streams whose clients may have gone long since, which Lambda does
// not show; those that have not reconnect.
const followFor = 60 * time.Second

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
		FollowFor: followFor,
	})
}

// worker names this sandbox in claims.
func worker(e *env.Env) string { return "lambda-" + e.NewID().String() }

// Authenticate answers who sent a request, as REVEILLE_AUTH says. Here nothing
// is open by default: it must be said.
func Authenticate(c *Cloud) (func(*http.Request) (core.Identity, error), error) {
	switch c.Settings.Auth {
	case settings.AuthNone:
		return func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: "public"}, nil }, nil
	case settings.AuthGateway:
		return verified, nil
	}
	return nil, fmt.Errorf("environment variable REVEILLE_AUTH is required here, allowed: %s, %s", settings.AuthNone, settings.AuthGateway)
}

// verified takes the identity from claims that AWS checked: the tenant from
// "tenant" or "custom:tenant" ("default" without), the user from "sub" or, of a
// signed request, "userId".
func verified(r *http.Request) (core.Identity, error) {
	a, ok := awslambda.AuthorizerFrom(r.Context())
	if !ok {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "no authorizer stands in front of this function")
	}
	id := core.Identity{Tenant: first(a.Claims, "tenant", "custom:tenant"), User: first(a.Claims, "sub", "userId", "principalId")}
	if id.Tenant == "" {
		id.Tenant = "default"
	}
	if id.User == "" {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "the verified claims name no user")
	}
	return core.Identity{Tenant: name(id.Tenant), User: name(id.User)}, nil
}

// name makes an id of a claim: a claim may hold what an id must not, such as the
// address in the session name of an assumed role; then a hash stands for it.
func name(claim string) string {
	if core.CheckName("claim", claim) == nil {
		return claim
	}
	sum := sha256.Sum256([]byte(claim))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

func first(claims map[string]string, names ...string) string {
	for _, name := range names {
		if v := claims[name]; v != "" {
			return v
		}
	}
	return ""
}
