package cloud

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// LimitMemory tells the garbage collector how much memory the function has, so
// that it collects before Lambda ends the process: 85 % of
// AWS_LAMBDA_FUNCTION_MEMORY_SIZE, the rest being what Go does not count, such as
// the program itself. GOMEMLIMIT, which Go reads by itself, has the last word.
func LimitMemory() {
	if limit := memoryLimit(os.Getenv); limit > 0 {
		debug.SetMemoryLimit(limit)
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
