// Command replay repeats recorded runs with the code that stands in functions/app now,
// and says where that would do something else. No model, tool or effect runs.
//
//	go run ./scripts/user/replay THREAD [RUN]
//	go run ./scripts/user/replay -all
//
// It reads the local host's file, which no other process may have open: stop the host
// first. The exit status is 0 when everything that could be replayed came to the same,
// 1 when something did not, or could not be read.
package main

import (
	"context"
	"os"

	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

func main() {
	code := wiring.Deployment{Parts: app.Parts, Models: models.Bind}
	if !run(context.Background(), code, os.Args[1:], os.Environ(), os.Stdout, os.Stderr) {
		os.Exit(1)
	}
}
