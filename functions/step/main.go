// Command step consumes the mailbox: one step of a run per message.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/serve"
)

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
	handler := awslambda.StepHandler(awslambda.StepOptions{Worker: rt, Env: c.Env, Logger: c.Logger})
	lambda.Start(awslambda.Answered(handler, serve.EndAbandoned(rt, c.Logger)))
}
