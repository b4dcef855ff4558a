// Command demo is the local host with the demo agents and the scripted model, for scripts and
// tests. It does not depend on package app.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/local"
)

func main() { local.Main(demo.Parts, binding.Bind, web.Handler) }
