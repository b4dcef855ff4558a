package stresstest

import (
	"syscall"
	"testing"
	"time"
)

// ProcessorTime returns the processor time that the process has used so far, in its own
// code and the system's.
func ProcessorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
