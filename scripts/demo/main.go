// Command demo is the local host with the demo agent and the scripted model,
// whatever package app has become: the host that scripts and tests start.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/demo"
	"github.com/reveille-run/reveille/functions/demo/models"
	"github.com/reveille-run/reveille/functions/local"
)

func main() { local.Main(demo.Parts, models.Bind, web.Handler) }
