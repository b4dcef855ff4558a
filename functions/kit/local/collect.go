package local

import (
	"runtime/debug"
	"slices"
	"strings"
)

// garbage is how much of it may lie beside what is in use, in percent of that.
// Against Go's 100, a run on disk takes 5 to 19 % less CPU at 16 clients, and the
// host holds some 7 MB more; make bench prints both.
const garbage = 200

// collectRarely sets the collector up, unless the environment says how.
func collectRarely(environ []string) {
	if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") && v != "GOGC=" }) {
		debug.SetGCPercent(garbage)
	}
}
