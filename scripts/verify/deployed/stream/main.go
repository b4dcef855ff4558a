// Command stream is the function of that name with the agent of these tests. It does not depend on
// package app.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
	"github.com/reveille-run/reveille/scripts/verify/deployed/agent"
)

func main() { front.Stream(agent.Parts, binding.Bind, web.Handler) }
