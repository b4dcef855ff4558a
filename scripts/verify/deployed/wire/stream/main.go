// Command stream is the function of that name with the demo agent and a provider over
// HTTP.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
	"github.com/reveille-run/reveille/scripts/verify/deployed/wire"
)

func main() { front.Stream(wire.Parts, wire.Bind, web.Handler) }
