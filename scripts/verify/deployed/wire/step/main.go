// Command step is the function of that name with the demo agent and a provider over
// HTTP.
package main

import (
	"github.com/reveille-run/reveille/functions/kit/serve"
	"github.com/reveille-run/reveille/scripts/verify/deployed/wire"
)

func main() { serve.Step(wire.Parts, wire.Bind) }
