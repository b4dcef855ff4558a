package local

import (
	"cmp"
	"runtime/debug"
	"slices"
	"strings"
)

// garbage is the allowed garbage in percent of the memory in use. Compared with Go's 100, a
// run on disk takes 5 to 19 % less CPU with 16 clients, and the host needs about 7 MB more;
// make bench prints both.
const garbage = 200

// collectRarely configures the garbage collector, unless GOGC is set, and returns how many
// percent of the memory in use the garbage may take; below 0: any.
func collectRarely(environ []string) (percent int) {
	before := debug.SetGCPercent(garbage)
	if slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") && v != "GOGC=" }) {
		debug.SetGCPercent(before)
		return before
	}
	return garbage
}

// cacheMemory is the memory that cached conversations take of the process, with the garbage
// that the collector allows because of them.
const cacheMemory = 64 << 20

// cacheSize returns the size of the cache, which counts no garbage, for memory that does; 0:
// [cacheMemory]. If any garbage is allowed, a limit of the process bounds it.
func cacheSize(memory, percent int) int {
	return cmp.Or(memory, cacheMemory) / (100 + max(percent, 0)) * 100
}
