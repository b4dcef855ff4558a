// Package front is the functions that take HTTP requests as a library. It is a
// package of its own because it links the protocols and the verifier of tokens,
// which package serve does without.
package front

import (
	"log"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/functions/serve"
	"github.com/reveille-run/reveille/functions/serve/cloud"
	"github.com/reveille-run/reveille/functions/serve/identity"
	"github.com/reveille-run/reveille/functions/serve/keys"
	"github.com/reveille-run/reveille/functions/settings"
	"github.com/reveille-run/reveille/functions/wiring"
)

// reserve is what an invocation of [Stream] keeps for handing its run on.
const reserve = 5 * time.Second

// Stream serves every route over Lambda response streaming, behind a Function URL
// or an API Gateway REST API. It takes steps itself while their client listens.
func Stream(parts wiring.Parts, models wiring.Models, web wiring.Web) {
	var secrets keys.Keys
	c, rt := serve.Start(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, secrets.Settings(c))
	})
	handler := identity.AllowOrigins(c.Settings, web(wiring.WebOptions{
		Runtime: rt, Env: c.Env, Authenticate: authenticator(c), Logger: c.Logger, UsageReaders: c.Settings.UsageReaders, Page: c.Settings.Page == settings.PageOn,
	}))
	stream := awslambda.Stream(keys.Request(&secrets, handler), awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger, Reserve: reserve})
	lambda.Start(awslambda.AfterResponse(stream, serve.EndAbandoned(rt, c.Logger)))
}

// API serves every route buffered, behind API Gateway: a route that starts a run
// queues it and names its stream's address, below REVEILLE_STREAM_URL. It runs no
// steps and needs no models.
func API(parts wiring.Parts, web wiring.Web) {
	c, rt := serve.Start(func(*cloud.Function) (agent.Parts, error) { return wiring.Deployment{Parts: parts}.Idle() })
	handler := identity.AllowOrigins(c.Settings, web(wiring.WebOptions{
		Runtime: rt, Env: c.Env, Authenticate: authenticator(c), Logger: c.Logger, UsageReaders: c.Settings.UsageReaders,
		Buffered: true, StreamURL: c.Settings.StreamURL, // and no page, which shows streams
	}))
	lambda.Start(awslambda.Buffered(handler, awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger}))
}

// authenticator is identity.Authenticate, or ends the process.
func authenticator(c *cloud.Function) func(*http.Request) (core.Identity, error) {
	authenticate, err := identity.Authenticate(c.Settings, c.Env)
	if err != nil {
		log.Fatal(err)
	}
	return authenticate
}
