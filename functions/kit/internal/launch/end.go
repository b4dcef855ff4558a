package launch

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/reveille-run/reveille/core/host"
)

// EndAbandoned returns a function to call after the response to an invocation. It ends the
// process if an abandoned tool still runs. Lambda freezes a process between invocations, so
// the tool would continue inside a later invocation, with its time and memory. The next
// invocation gets a new process.
func EndAbandoned(rt *host.Host, log *slog.Logger) func() {
	several := lambdacontext.MaxConcurrency() > 1
	return func() {
		if n := rt.Stats().Abandoned; ends(n, several, rt.Healthy()) {
			log.Warn("process ends, abandoned tools still run", "tools", n)
			os.Exit(0)
		}
	}
}

// ends reports whether abandoned tools end their process. A process with several concurrent
// invocations is never frozen, and its end would break the other invocations. It continues
// until it is unhealthy.
func ends(abandoned int, several bool, health error) bool {
	return abandoned > 0 && (!several || health != nil)
}
