package launch

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/reveille-run/reveille/core/host"
)

// EndAbandoned returns what a function calls when it has responded to an invocation:
// it ends the process when a tool was left behind that still runs. Lambda freezes a
// process between invocations, so the tool would go on inside one that comes later,
// with its time and memory. The next invocation gets a process of its own.
func EndAbandoned(rt *host.Host, log *slog.Logger) func() {
	limit := endsAt(lambdacontext.MaxConcurrency())
	return func() {
		if n := rt.Stats().Abandoned; n >= limit {
			log.Warn("the process ends: tools were left behind that do not end when they are told to", "tools", n)
			os.Exit(0)
		}
	}
}

// endsAt is how many tools that were left behind end a process that takes so many
// invocations at once. One that takes several is never frozen, and its end would
// cut the others off: it goes on until it is unhealthy.
func endsAt(invocations int) int {
	if invocations > 1 {
		return host.MaxAbandoned
	}
	return 1
}
