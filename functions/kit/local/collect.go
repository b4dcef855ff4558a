package local

import (
	"runtime/debug"
	"slices"
	"strings"
)

// garbage is the allowed garbage in percent of the memory in use. Compared with Go's 100, a
// run on disk takes 5 to 19 % less CPU with 16 clients, and the host needs about 7 MB more;
// make bench prints both.
const garbage = 200

// collectRarely configures the garbage collector, unless GOGC is set.
func collectRarely(environ []string) {
	if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") && v != "GOGC=" }) {
		debug.SetGCPercent(garbage)
	}
}
