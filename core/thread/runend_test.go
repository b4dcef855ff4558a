package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
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

// A program that knows nothing of the form of an end drops it when it writes the run's
// record again, and keeps the rest of the ending: whoever closes the run tries the whole of
// its end first, as the first claim did, and the store decides again.
func TestTwoBuildsAgreeOnAnEndWithoutItsForm(t *testing.T) {
	// As an older program names its fields: form is unknown to it.
	const older = `{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":2,"created_at":3,` +
		`"ending":{"version":7,"termination":{"type":"stopped","code":"max_rounds"},"form of a newer program":3}}`
	var records thread.Records
	run, err := records.DecodeRun([]byte(older))
	if err != nil {
		t.Fatal(err)
	}
	again, err := records.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := records.DecodeRun(again)
	want := &thread.Ending{Version: 7, Termination: core.Termination{Type: core.TerminationStopped, Code: "max_rounds"}, Form: thread.FormWhole}
	if diff := cmp.Diff(want, newer.Ending); err != nil || diff != "" {
		t.Errorf("%s, %v (-want +got):\n%s", again, err, diff)
	}
}
