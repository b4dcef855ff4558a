//go:build !race

package run_test

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/reveille-run/reveille/core"
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

// TestInterruptAllocatesAsLittleInALongThread counts what a run allocates that waits for a
// person and is resumed, as BenchmarkInterruptResume takes it: the messages of a long thread
// are not copied with each request, although the message with which a long run began
// precedes them, and transforms of plugins see them.
func TestInterruptAllocatesAsLittleInALongThread(t *testing.T) {
	const threads, runs = 3, 20
	var bytes, objects [2]uint64
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // 120 runs are 15 MB
	for i, history := range []int{0, 1000} {
		for n := range threads {
			d, key := newDirect(t, options{plugins: append(idlePlugins(), asking("echo"))}), core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(n)}
			d.history(t, key, history)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				d.interrupted(t, key)
			}
			runtime.ReadMemStats(&after)
			bytes[i] += (after.TotalAlloc - before.TotalAlloc) / (threads * runs)
			objects[i] += (after.Mallocs - before.Mallocs) / (threads * runs)
		}
	}
	t.Logf("%d bytes and %d objects a run, in a thread of 1,000 messages %d and %d", bytes[0], objects[0], bytes[1], objects[1])
	if bytes[1] > 2*bytes[0] || bytes[1] > 115_000 {
		t.Errorf("in a thread of 1,000 messages a run allocates %d bytes, in an empty one %d; at most twice as many are wanted, and 115,000", bytes[1], bytes[0])
	}
	if objects[1] > objects[0]+20 {
		t.Errorf("in a thread of 1,000 messages a run allocates %d objects, in an empty one %d", objects[1], objects[0])
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
