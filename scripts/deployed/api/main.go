// Command api is the function of that name with the demo agent, whatever package
// app has become.
package main

import (
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/demo"
	"github.com/reveille-run/reveille/functions/serve/front"
)

func main() { front.API(demo.Parts, web.Handler) }
