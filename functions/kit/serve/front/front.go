// Package front has the functions that take HTTP requests, as a library. It is separate from
// package serve, because it links the protocols and the verifier of tokens.
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

// reserve is the time that an invocation of [Stream] keeps to release its run.
const reserve = 5 * time.Second

// Stream serves every route with Lambda response streaming, behind a Function URL or an API
// Gateway REST API. It runs the steps of a run itself while the client listens.
func Stream(parts wiring.Parts, models wiring.Models, web wiring.Web) {
	var secrets keys.Keys
	c, rt := launch.Start("stream", func(c *cloud.Function) (agent.Parts, error) {
		return wiring.Deployment{Parts: parts, Models: models}.Agents(c.Env, secrets.Settings(c))
	}, nil)
	handler := identity.AllowOrigins(c.Settings, web(streamed(c, rt, authenticator(c))))
	stream := streaming(c).Stream(keys.Request(&secrets, handler))
	lambda.Start(awslambda.AfterResponse(stream, launch.EndAbandoned(rt, c.Logger)))
}

// streaming returns the transport of [Stream].
func streaming(c *cloud.Function) awslambda.Handlers {
	return awslambda.Handlers{Env: c.Env, Logger: c.Logger, Reserve: reserve}
}

// streamed returns the options of the protocols of [Stream].
func streamed(c *cloud.Function, rt *host.Host, authenticate func(*http.Request) (core.Identity, error)) wiring.WebOptions {
	return wiring.WebOptions{
		Runtime: rt, Authenticate: authenticate, Logger: c.Logger, UsageReaders: c.Settings.UsageReaders, Page: c.Settings.ShowsPage(false),
		ShowModels: c.Settings.ShowsModels(false), ShowRequests: c.Settings.ShowsRequests(false), MaxBody: c.Settings.MaxBody,
	}
}

// buffered returns the options of the protocols of [API], without the page, which needs
// streams.
func buffered(c *cloud.Function, rt *host.Host, authenticate func(*http.Request) (core.Identity, error)) wiring.WebOptions {
	return wiring.WebOptions{
		Runtime: rt, Authenticate: authenticate, Logger: c.Logger, UsageReaders: c.Settings.UsageReaders,
		ShowRequests: c.Settings.ShowsRequests(false), MaxBody: c.Settings.MaxBody, Buffered: true, StreamURL: c.Settings.StreamURL,
	}
}

// API serves every route buffered, behind API Gateway. A route that starts a run queues the
// run and returns the address of its stream, below REVEILLE_STREAM_URL. The function runs no
// steps and needs no models.
func API(parts wiring.Parts, web wiring.Web) {
	c, rt := launch.Start("api", func(c *cloud.Function) (agent.Parts, error) { return wiring.Deployment{Parts: parts}.Idle(c.Settings) }, nil)
	handler := identity.AllowOrigins(c.Settings, web(buffered(c, rt, authenticator(c))))
	lambda.Start(awslambda.Handlers{Env: c.Env, Logger: c.Logger}.Buffered(handler))
}

// Authenticate returns a function that identifies the sender of a request, by the method in
// REVEILLE_AUTH. An error names a variable that is missing, or that does not apply to the
// method: no setting is ignored, and a deployment is open only with REVEILLE_AUTH=none.
func Authenticate(s settings.Settings, e *env.Env) (func(*http.Request) (core.Identity, error), error) {
	return identity.Authenticate(s, e)
}

// authenticator returns the result of [Authenticate], or ends the process.
func authenticator(c *cloud.Function) func(*http.Request) (core.Identity, error) {
	authenticate, err := Authenticate(c.Settings, c.Env)
	if err != nil {
		log.Fatal(err)
	}
	return authenticate
}
