// Command api serves every route buffered, behind API Gateway. A route that starts a run
// queues the run and returns the address of its stream. The command runs no steps, so it
// links no model.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
)

func main() { front.API(app.Parts, web.Handler) }
