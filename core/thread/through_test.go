package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/thread"
)

func (w *writer) through(may, ran uint32) {
	w.t.Helper()
	if diff := cmp.Diff(thread.Through{May: may, Ran: ran}, w.head.Through()); diff != "" {
		w.t.Errorf("version %d (-want +got):\n%s", w.head.Version, diff)
	}
}

// Two builds share a run, of which one does not know which calls may have run. It carries
// the list as it finds it, and the newer one drops the calls that have their results since.
func TestTwoBuildsKeepWhichCallsMayHaveRun(t *testing.T) {
	w := claimed(t)
	w.write("t", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 3})
	w.through(0, 0)
	w.now += 31_000
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true}) // the first claim is lost
	w.through(0b111, 0)
	w.older("a", thread.Refence{Fence: 2})
	w.older("b", thread.Suspend{Fence: 3, Calls: []thread.CallStatus{thread.CallDone, thread.CallNew, thread.CallNew}})
	w.older("c", thread.Nack{Fence: 3})
	w.through(0b111, 0)
	w.write("m", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.write("n", thread.Nack{Fence: 4})
	w.through(0b110, 0)
	w.write("o", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	ran := uint32(0b100)
	w.write("p", thread.Nack{Fence: 5, Through: &ran})
	w.through(0b100, 0b100)
	w.older("q", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.now += 31_000
	w.write("r", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true}) // the older one's claim is lost, and counts like any
	w.through(0b110, 0b100)
	w.older("s", thread.Cancel{})
	w.older("u", thread.CommitClose{Fence: 7, From: 2, Seq: 5})
	w.write("v", thread.Enqueue{Dispatch: id("d2"), Run: id("r2")})
	w.write("x", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.write("y", thread.CommitTurn{Fence: 8, From: 5, Seq: 6, Calls: 3})
	w.through(0, 0)
}

// A turn of the older program does not clear the list. A call of its round may be listed
// that has not run: its outcome is then called unknown, and none that has run is called
// not executed. The newer program's next turn clears it.
func TestATurnOfAnOlderBuildLeavesWhichCallsMayHaveRun(t *testing.T) {
	w := claimed(t)
	w.write("t", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 2})
	w.now += 31_000
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000, Alone: true})
	w.through(0b11, 0)
	done := []thread.CallStatus{thread.CallDone, thread.CallDone}
	w.older("a", thread.CommitStep{Fence: 2, From: 2, Seq: 5, Outcome: thread.Yield, Keep: true, Calls: done})
	w.older("b", thread.CommitTurn{Fence: 2, From: 5, Seq: 6, Calls: 2})
	w.through(0b11, 0)
	w.older("c", thread.CommitStep{Fence: 2, From: 6, Seq: 9, Outcome: thread.Yield, Keep: true, Calls: done})
	w.write("d", thread.CommitTurn{Fence: 2, From: 9, Seq: 10, Calls: 2})
	w.through(0, 0)
}

// What no program has written there lists no call.
func TestWhichCallsMayHaveRunIsReadStrictly(t *testing.T) {
	for _, value := range []string{"", "\x03", "\x80", "\x03\x80", "\xff\xff\xff\xff\x10\x00", "\x03\xff\xff\xff\xff\x10"} {
		w := claimed(t)
		w.write("t", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 2})
		w.head.Extensions = []thread.Extension{{Run: id("r"), Tag: 8, Value: []byte(value)}}
		w.through(0, 0)
		w.head.Extensions = []thread.Extension{{Run: id("another"), Tag: 8, Value: []byte("\x03\x01")}}
		w.through(0, 0)
		w.head.Extensions[0].Run = id("r")
		w.through(3, 1)
	}
}
