//go:build killpoints

package killpoints

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/reveille-run/reveille/core/env"
)

// The variables of the test build.
const (
	KillAt    = "REVEILLE_KILL_AT"    // point and side: "W6.before"
	KillCount = "REVEILLE_KILL_COUNT" // at which passing of it in a process; default 1
	KillOnce  = "REVEILLE_KILL_ONCE"  // a file that is made before the kill and prevents a second one; default none
	KeyFile   = "REVEILLE_KEY_FILE"   // gets the idempotency key of every execution of a tool
)

// Variables are the further environment variables of the build.
func Variables() []string { return []string{KillAt, KillCount, KillOnce, KeyFile} }

// Reach returns a function that kills the process where the variables say.
func Reach(next func(env.Point) func()) func(env.Point) func() {
	target := os.Getenv(KillAt)
	count, err := strconv.ParseInt(os.Getenv(KillCount), 10, 64)
	if err != nil {
		count = 1
	}
	var passed atomic.Int64
	at := func(place string) {
		if place == target && passed.Add(1) == count && first(os.Getenv(KillOnce)) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens in this process
		}
	}
	return func(p env.Point) func() {
		done := next(p)
		at(string(p) + ".before")
		return func() {
			done()
			at(string(p) + ".after")
		}
	}
}

// first makes the file; false when it was there.
func first(path string) bool {
	if path == "" {
		return true
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
