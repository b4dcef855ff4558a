// Command step consumes the mailbox: one step of a run per message.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/kit/serve"
)

func main() { serve.Step(app.Parts, models.Bind) }
