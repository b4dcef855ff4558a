// Command own is the function step with a tool that writes to a table of the user's: the one
// that the variable ORDERS_TABLE of the file environment names.
package main

import (
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/serve"
)

func main() { serve.Step(parts, binding.Bind) }
