// Command stream serves every route over Lambda response streaming, behind a
// Function URL or an API Gateway REST API.
package main

import (
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/serve"
	"github.com/reveille-run/reveille/functions/serve/identity"
)

// reserve is what an invocation keeps for handing its run on.
const reserve = 5 * time.Second

func main() {
	c, err := serve.Open()
	if err != nil {
		log.Fatal(err)
	}
	bound, err := models.Bind(c.Env, models.KeysOf(c.Settings))
	if err != nil {
		log.Fatal(err)
	}
	rt, err := serve.Runtime(c, bound)
	if err != nil {
		log.Fatal(err)
	}
	authenticate, err := identity.Authenticate(c.Settings, c.Env)
	if err != nil {
		log.Fatal(err)
	}
	handler := web.Handler(web.Options{Runtime: rt, Env: c.Env, Authenticate: authenticate, Logger: c.Logger})
	stream := awslambda.Stream(identity.AllowOrigins(c.Settings, handler), awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger, Reserve: reserve})
	lambda.Start(awslambda.Answered(stream, serve.EndAbandoned(rt, c.Logger)))
}
