// Package front is the functions that take HTTP requests as a library. It is a
// package of its own because it links the protocols and the verifier of tokens,
// which package serve does without.
package front

import (
	"log"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/identity"
	"github.com/reveille-run/reveille/functions/kit/internal/keys"
	"github.com/reveille-run/reveille/functions/kit/internal/launch"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// reserve is what an invocation of [Stream] keeps for handing its run on.
const reserve = 5 * time.Second

// Stream serves every route over Lambda response streaming, behind a Function URL
// or an API Gateway REST API. It takes steps itself while their client listens.
func Stream(parts wiring.Parts, models wiring.Models, web wiring.Web) {
	var secrets keys.Keys
	c, rt := launch.Start(func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, secrets.Settings(c))
	}, nil)
	handler := identity.AllowOrigins(c.Settings, web(streamed(c, rt, authenticator(c))))
	stream := streaming(c).Stream(keys.Request(&secrets, handler))
	lambda.Start(awslambda.AfterResponse(stream, launch.EndAbandoned(rt, c.Logger)))
}

// streaming is how the transport of [Stream] works.
func streaming(c *cloud.Function) awslambda.Handlers {
	return awslambda.Handlers{Env: c.Env, Logger: c.Logger, Reserve: reserve}
}

// streamed is what the protocols of [Stream] are mounted with.
func streamed(c *cloud.Function, rt *host.Host, authenticate func(*http.Request) (core.Identity, error)) wiring.WebOptions {
	return wiring.WebOptions{
		Runtime: rt, Authenticate: authenticate, Logger: c.Logger, UsageReaders: c.Settings.UsageReaders, Page: c.Settings.ShowsPage(false),
	}
}

// buffered is what the protocols of [API] are mounted with: no page, which shows streams.
func buffered(c *cloud.Function, rt *host.Host, authenticate func(*http.Request) (core.Identity, error)) wiring.WebOptions {
	return wiring.WebOptions{
		Runtime: rt, Authenticate: authenticate, Logger: c.Logger, UsageReaders: c.Settings.UsageReaders,
		Buffered: true, StreamURL: c.Settings.StreamURL,
	}
}

// API serves every route buffered, behind API Gateway: a route that starts a run
// queues it and names its stream's address, below REVEILLE_STREAM_URL. It runs no
// steps and needs no models.
func API(parts wiring.Parts, web wiring.Web) {
	c, rt := launch.Start(func(*cloud.Function) (agent.Parts, error) { return wiring.Deployment{Parts: parts}.Idle() }, nil)
	handler := identity.AllowOrigins(c.Settings, web(buffered(c, rt, authenticator(c))))
	lambda.Start(awslambda.Handlers{Env: c.Env, Logger: c.Logger}.Buffered(handler))
}

// Authenticate returns who sent a request, as REVEILLE_AUTH says. An error names
// the variable that is missing, or that has no meaning beside the others: nothing
// is open and nothing is ignored unless it is said.
func Authenticate(s settings.Settings, e *env.Env) (func(*http.Request) (core.Identity, error), error) {
	return identity.Authenticate(s, e)
}

// authenticator is [Authenticate], or ends the process.
func authenticator(c *cloud.Function) func(*http.Request) (core.Identity, error) {
	authenticate, err := Authenticate(c.Settings, c.Env)
	if err != nil {
		log.Fatal(err)
	}
	return authenticate
}
