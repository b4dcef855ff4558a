// Command stream is the function of that name with the demo agent, whatever
// package app has become.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/demo"
	"github.com/reveille-run/reveille/functions/demo/models"
	"github.com/reveille-run/reveille/functions/serve/front"
)

func main() { front.Stream(demo.Parts, models.Bind, web.Handler) }
