// Command trigger is the function of that name with the agent of these tests. It does not depend on
// package app.
package main

import (
	"github.com/reveille-run/reveille/functions/kit/serve/triggers"
	"github.com/reveille-run/reveille/scripts/verify/deployed/agent"
)

func main() { triggers.Main(agent.Parts) }
