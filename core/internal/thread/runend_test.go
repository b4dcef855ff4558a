package thread_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// Which write put the record in force stands in the head as long as the run does: the
// newest counts.
func TestThatRunEndHasRunIsKeptOverClaims(t *testing.T) {
	w := claimed(t)
	ranBy := func(want uint64) {
		t.Helper()
		if got := w.head.Run.RunEnd; got != want {
			t.Errorf("version %d: RunEnd has run by version %d, want %d", w.head.Version, got, want)
		}
	}
	w.write("a", thread.Cancel{})
	w.write("b", thread.Nack{Fence: 1, RunEnd: true, Closing: true})
	ranBy(4)
	w.write("c", thread.Touch{})
	w.write("d", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.write("e", thread.Refence{Fence: 2})
	w.write("f", thread.Nack{Fence: 3, Closing: true})
	ranBy(4)
	w.write("g", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.write("h", thread.Nack{Fence: 4, RunEnd: true, Closing: true})
	ranBy(10)
	w.write("i", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.write("j", thread.CommitClose{Fence: 5, Seq: w.head.Seq})
	ranBy(0)
	w.write("k", thread.Enqueue{Dispatch: id("d2"), Run: id("r2")})
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	ranBy(0)
}
