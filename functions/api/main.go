// Command api serves every route buffered, behind API Gateway: a route that
// starts a run queues it and names its stream's address. It runs no steps, so it
// links no model.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
)

func main() { front.API(app.Parts, web.Handler) }
