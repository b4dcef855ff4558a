package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
)

func (w *writer) through(may, ran uint32) {
	w.t.Helper()
	if diff := cmp.Diff(thread.Through{May: may, Ran: ran}, w.head.Run.Through); diff != "" {
		w.t.Errorf("version %d (-want +got):\n%s", w.head.Version, diff)
	}
}

// What a lost claim may have started stands in the head until a holder knows better, the
// calls have their results, or the next turn begins.
func TestWhichCallsMayHaveRunIsKeptOverClaims(t *testing.T) {
	w := claimed(t)
	w.write("t", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 3})
	w.through(0, 0)
	w.now += 31_000
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true}) // the first claim is lost
	w.through(0b111, 0)
	w.write("a", thread.Refence{Fence: 2})
	w.write("b", thread.Suspend{Fence: 3, Calls: []thread.CallStatus{thread.CallDone, thread.CallNew, thread.CallNew}})
	w.through(0b110, 0)
	w.write("n", thread.Nack{Fence: 3})
	w.through(0b110, 0)
	w.write("o", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	ran := uint32(0b100)
	w.write("p", thread.Nack{Fence: 4, Through: &ran})
	w.through(0b100, 0b100)
	w.write("q", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.now += 31_000
	w.write("r", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.through(0b110, 0b100)
	done := []thread.CallStatus{thread.CallDone, thread.CallDone, thread.CallDone}
	w.write("s", thread.CommitStep{Fence: 6, From: 2, Seq: 6, Outcome: thread.Yield, Keep: true, Calls: done})
	w.through(0, 0)
	w.write("u", thread.CommitTurn{Fence: 6, From: 6, Seq: 7, Calls: 3})
	w.through(0, 0)
}
