// Command replay repeats recorded runs with the current code of functions/app and prints
// where the outcome differs. No model, tool or effect runs.
//
//	go run ./scripts/user/replay THREAD [RUN]
//	go run ./scripts/user/replay -all
//
// It reads the local host's file. Stop the host first, since only one process can open the
// file. The exit status is 1 if a run differs or a thread cannot be read, and 0 otherwise.
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
