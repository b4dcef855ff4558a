// Command step is the function of that name with the agent of these tests. It does not depend on
// package app.
package main

import (
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/serve"
	"github.com/reveille-run/reveille/scripts/verify/deployed/agent"
)

func main() { serve.Step(agent.Parts, binding.Bind) }
