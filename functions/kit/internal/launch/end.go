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
	several := lambdacontext.MaxConcurrency() > 1
	return func() {
		if n := rt.Stats().Abandoned; ends(n, several, rt.Healthy()) {
			log.Warn("the process ends: tools were left behind that do not end when they are told to", "tools", n)
			os.Exit(0)
		}
	}
}

// ends reports whether tools that were left behind end their process. One that takes
// several invocations at once is never frozen, and its end would cut the others off: it
// goes on until it is unhealthy.
func ends(abandoned int, several bool, health error) bool {
	return abandoned > 0 && (!several || health != nil)
}
