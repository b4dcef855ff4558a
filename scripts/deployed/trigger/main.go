// Command trigger is the function of that name with the demo agent, whatever package
// app has become.
package main

import (
	"github.com/reveille-run/reveille/functions/demo"
	"github.com/reveille-run/reveille/functions/serve/triggers"
)

func main() { triggers.Main(demo.Parts) }
