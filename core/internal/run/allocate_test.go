//go:build !race

package run_test

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// TestRunOfTwoStepsAllocatesLittle counts the objects and bytes that a whole background run allocates:
// its submission, two claims, two steps with a tool call between them, and three
// commits on the memory store, which encodes and decodes every record, and what lists run
// and thread. A collection empties pools, and how many there are depends on the machine:
// there is none while it counts. The race detector allocates, too, so that the test is left
// out under it. The bytes vary by a twentieth from process to process, with the size of maps
// that have random seeds. A turn names the hash of its request, and has its times.
func TestRunOfTwoStepsAllocatesLittle(t *testing.T) {
	tests := []struct {
		name    string
		options options
		most    float64 // objects a run
		bytes   uint64  // a run, at most
	}{
		{"without plugins", options{}, 280, 45_000},
		{"with three idle plugins", options{plugins: idlePlugins()}, 330, 50_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, runs := newDirect(t, tt.options), 0
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // 500 runs are 30 MB
			before := allocated()
			got := testing.AllocsPerRun(500, func() {
				d.twoSteps(t, strconv.Itoa(runs))
				runs++
			})
			bytes := (allocated() - before) / uint64(runs)
			t.Logf("%g objects and %d bytes a run", got, bytes)
			if bytes > tt.bytes {
				t.Errorf("a run of two steps allocates %d bytes, at most %d are wanted", bytes, tt.bytes)
			}
			if got > tt.most {
				t.Errorf("a run of two steps allocates %g objects, at most %g are wanted", got, tt.most)
			}
		})
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
