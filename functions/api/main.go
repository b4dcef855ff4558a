// Command api serves every route buffered, behind API Gateway: a route that
// starts a run queues it and answers where its stream is. It runs no steps, so
// it links no model.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/serve"
	"github.com/reveille-run/reveille/functions/serve/identity"
)

func main() {
	c, err := serve.Open()
	if err != nil {
		log.Fatal(err)
	}
	rt, err := serve.Runtime(c, map[string]agent.ModelBinding{app.DemoModel: {Model: model.None{}}})
	if err != nil {
		log.Fatal(err)
	}
	authenticate, err := identity.Authenticate(c.Settings, c.Env)
	if err != nil {
		log.Fatal(err)
	}
	handler := web.Handler(web.Options{
		Runtime: rt, Env: c.Env, Authenticate: authenticate, Logger: c.Logger,
		Buffered: true, StreamURL: c.Settings.StreamURL,
	})
	lambda.Start(awslambda.Buffered(identity.AllowOrigins(c.Settings, handler), awslambda.HTTPOptions{Env: c.Env, Logger: c.Logger}))
}
