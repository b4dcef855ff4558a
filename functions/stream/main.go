// Command stream serves every route with Lambda response streaming, behind a
// Function URL or an API Gateway REST API.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
)

func main() { front.Stream(app.Parts, models.Bind, web.Handler) }
