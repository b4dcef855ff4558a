package cloud

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// gcPercent is how much a function's heap may grow between two collections, in
// percent of what is in use, as GOGC would say it. Go's own 100 saves memory that a
// function pays for anyway, with a sixth of the time of a step.
const gcPercent = 400

// limitMemory tells the garbage collector how much memory the function has, so
// that it collects before Lambda ends the process: 85 % of
// AWS_LAMBDA_FUNCTION_MEMORY_SIZE, the rest being what Go does not count, such as
// the program itself. Below that limit it collects as seldom as [gcPercent] says.
// GOMEMLIMIT and GOGC, which Go reads by itself, have the last word: without a limit
// of ours the percentage is Go's, too.
func limitMemory() {
	limit := memoryLimit(os.Getenv)
	if limit == 0 {
		return
	}
	debug.SetMemoryLimit(limit)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// memoryLimit returns the limit in bytes, 0 when there is none to set.
func memoryLimit(getenv func(string) string) int64 {
	megabytes, err := strconv.ParseInt(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 64)
	if err != nil || getenv("GOMEMLIMIT") != "" || megabytes <= 0 || megabytes > math.MaxInt64>>27 {
		return 0
	}
	return megabytes << 20 * 85 / 100
}
