//go:build unix

package metrics

import "syscall"

// cpuSeconds is what the process has used of the processors.
func cpuSeconds() (float64, bool) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, false
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9, true
}
