// Command dev is the local host: the whole deployment in one process, on an
// embedded store.
//
//	go run ./scripts/user/dev
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/local"
)

func main() { local.Main(app.Parts, models.Bind, web.Handler) }
