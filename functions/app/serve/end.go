package serve

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/reveille-run/reveille/core/runtime"
)

// EndAbandoned returns what a function calls when it has answered an invocation:
// it ends the process when a tool was left behind that still runs. Lambda freezes a
// process between invocations, so the tool would go on inside one that comes later,
// with its time and memory. The next invocation gets a process of its own.
//
// One that takes several invocations at once is never frozen, and its end would
// cut the others off: it goes on until it is unhealthy.
func EndAbandoned(rt *runtime.Runtime, log *slog.Logger) func() {
	limit := 1
	if lambdacontext.MaxConcurrency() > 1 {
		limit = runtime.MaxAbandoned
	}
	return func() {
		if n := rt.Abandoned(); n >= limit {
			log.Warn("the process ends: tools were left behind that do not end", "tools", n)
			os.Exit(0)
		}
	}
}
