// Package serve is the functions on AWS as a library: a main names the kind of its
// function and gives it the agents, models and protocols of the deployment.
//
//	func main() { serve.Step(app.Parts, models.Bind) }
//
// There is a function for each kind: [Step], [Stream] and [API] here, and Main of
// package serve/sweep, which links no agent. Each reads the environment (package
// settings), builds what it serves, and hands it to the Lambda runtime; it returns
// only when that ends. What is wrong with the environment or the agents ends the
// process at start with one line that says so.
package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/functions/serve/cloud"
	"github.com/reveille-run/reveille/functions/settings"
	"github.com/reveille-run/reveille/functions/wiring"
)

// Step serves the mailbox's queue: one step of a run for each message.
func Step(parts wiring.Parts, models wiring.Models) {
	c, rt := start(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, c.Settings)
	})
	handler := awslambda.StepHandler(awslambda.StepOptions{Worker: rt, Env: c.Env, Logger: c.Logger})
	lambda.Start(awslambda.Answered(handler, endAbandoned(rt, c.Logger)))
}

// reserve is what an invocation of [Stream] keeps for handing its run on.
const reserve = 5 * time.Second

// Stream serves every route over Lambda response streaming, behind a Function URL
// or an API Gateway REST API. It takes steps itself while their client listens.
func Stream(parts wiring.Parts, models wiring.Models, web wiring.Web) {
	c, rt := start(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, c.Settings)
	})
	handler := web(wiring.WebOptions{Runtime: rt, Env: c.Env, Authenticate: authenticator(c), Logger: c.Logger})
	stream := awslambda.Stream(handler, awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger, Reserve: reserve})
	lambda.Start(awslambda.Answered(stream, endAbandoned(rt, c.Logger)))
}

// API serves every route buffered, behind API Gateway: a route that starts a run
// queues it and names its stream's address, below REVEILLE_STREAM_URL. It runs no
// steps and needs no models.
func API(parts wiring.Parts, web wiring.Web) {
	c, rt := start(func(*cloud.Function) (agent.Parts, error) { return wiring.Deployment{Parts: parts}.Idle() })
	handler := web(wiring.WebOptions{
		Runtime: rt, Env: c.Env, Authenticate: authenticator(c), Logger: c.Logger,
		Buffered: true, StreamURL: c.Settings.StreamURL,
	})
	lambda.Start(awslambda.Buffered(handler, awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger}))
}

// start opens the function and builds its runtime, or ends the process.
func start(agents func(*cloud.Function) (agent.Parts, error)) (*cloud.Function, *runtime.Runtime) {
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

// authenticator is [Authenticate], or ends the process.
func authenticator(c *cloud.Function) func(*http.Request) (core.Identity, error) {
	authenticate, err := Authenticate(c.Settings)
	if err != nil {
		log.Fatal(err)
	}
	return authenticate
}

// Authenticate returns what says who sent a request, as REVEILLE_AUTH wants it.
// Here nothing is open by default: it must be said.
func Authenticate(s settings.Settings) (func(*http.Request) (core.Identity, error), error) {
	switch s.Auth {
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
