package thread_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

const minute = 60_000

// sleep lets the run of the claim wait for the times, each with a call. In a batch it waits for
// all of them.
func (w *hinted) sleep(batch bool, times ...int64) thread.Result {
	w.t.Helper()
	tickets := make([]thread.Ticket, len(times))
	calls := make([]thread.CallStatus, len(times))
	for i, at := range times {
		tickets[i] = thread.Ticket{Call: uint8(i), ID: uint64(i + 1), Kind: thread.TicketTimer, WakeAt: at, Keep: true}
		calls[i] = thread.CallSuspended
	}
	w.does(0, thread.CommitTurn{Fence: w.head.Fence, From: w.head.Seq, Seq: w.head.Seq + 1, Calls: len(times), Batch: batch})
	return w.does(0, thread.CommitStep{Fence: w.head.Fence, From: w.head.Seq, Seq: w.head.Seq, Calls: calls, Tickets: tickets, Outcome: thread.Wait})
}

// does applies a change so many milliseconds later.
func (w *hinted) does(after int64, change thread.Change) thread.Result {
	w.t.Helper()
	w.now += after
	w.writes++
	next, result, err := thread.Apply(w.head, thread.Transition{Now: w.now, CommitID: made(w.now, w.writes), Change: change})
	if err != nil {
		w.t.Fatalf("%T: %v", change, err)
	}
	w.head = next
	return result
}

// A wait for a time has one hint on its way, however often clients repeat their requests, and
// whatever else they do while the run waits. Writes of the run's worker, and claims that are
// written, send one.
func TestAWaitHasOneHint(t *testing.T) {
	const start = 1_000_000
	soon := int64(start + 10*minute)
	claim := func(at int64) thread.Change { return thread.TakeClaim{Worker: "w", Lease: 30_000, WakeAt: at} }
	input := thread.Input{ID: id("i1"), Dedupe: 7}
	decide := thread.Decide{Run: id("r1"), Call: 1, Decision: 8}
	tests := []struct {
		name  string
		times []int64
		batch bool
		after int64 // milliseconds from the wait to the changes
		does  []thread.Change
		want  []int64 // the time of the hint of each, from the start; -1: it sends none, 0: at once
	}{
		{"a submission, repeated", []int64{soon}, false, minute, []thread.Change{aRun, nextRun, nextRun}, []int64{-1, -1, -1}},
		{"an input that waits, repeated", []int64{soon}, false, minute, []thread.Change{input, input}, []int64{-1, -1}},
		{"a decision in a batch, repeated", []int64{soon, soon + 2*minute}, true, minute, []thread.Change{decide, decide}, []int64{-1, -1}},
		{"a decision that continues the run, repeated", []int64{soon, soon + 2*minute}, false, minute, []thread.Change{decide, decide}, []int64{0, 0}},
		{"a claim for another reason", []int64{soon}, false, minute, []thread.Change{claim(0), claim(soon + 1)}, []int64{-1, -1}},
		{"a claim that comes too early", []int64{soon}, false, 10*minute - 1, []thread.Change{claim(soon), claim(soon)}, []int64{10 * minute, 10 * minute}},
		{"a claim in time", []int64{soon}, false, 10 * minute, []thread.Change{claim(soon)}, []int64{-1}},
		{"a claim that wakes one of a batch", []int64{soon, soon + 2*minute}, true, 10 * minute, []thread.Change{claim(soon), claim(0)}, []int64{12 * minute, -1}},
		{"a run that is queued as the time comes near", []int64{start + 20*minute}, false, 5 * minute, []thread.Change{nextRun, input}, []int64{20 * minute, -1}},
		{"one before that", []int64{start + 20*minute}, false, 5*minute - 1, []thread.Change{nextRun}, []int64{-1}},
		{"the sweep's claim", []int64{start + 20*minute}, false, 10 * minute, []thread.Change{claim(0), claim(0), nextRun}, []int64{20 * minute, -1, -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &hinted{t: t, now: start}
			w.does(0, aRun)
			w.does(0, taken)
			slept := w.sleep(tt.batch, tt.times...)
			if near := tt.times[0] <= start+15*minute; (slept.Hint != nil) != near || near && slept.Hint.At != tt.times[0] {
				t.Errorf("the wait has the hint %+v", slept.Hint)
			}
			w.now += tt.after
			for i, change := range tt.does {
				got := int64(-1)
				if hint := w.does(0, change).Hint; hint != nil {
					got = max(hint.At-start, 0)
				}
				if got != tt.want[i] {
					t.Errorf("change %d sends a hint for %d, want %d", i, got, tt.want[i])
				}
			}
		})
	}
}

// A write of another kind sends the hint of a wait, too, when the time has come near: alone, or as
// the time to wake in the hint that it sends for itself. Later writes do not.
func TestAWriteForAnotherReasonSendsTheHintOfAWait(t *testing.T) {
	const start, wakes = 1_000_000, 1_000_000 + 20*minute
	soon := int64(start + 7*minute)
	delivered := thread.Delivered{ID: id("m1"), Kind: thread.OutboxMessage}
	later := thread.Delivered{ID: id("m2"), Kind: thread.OutboxMessage, Next: soon, Failed: true}
	sent := thread.Send{ID: id("m3")}
	tests := []struct {
		name  string
		after int64
		does  []thread.Change
		want  []thread.Hint // without the dispatch; zero: it sends none
	}{
		{"a message is delivered", 6 * minute, []thread.Change{delivered, later}, []thread.Hint{{At: wakes, WakeAt: wakes}, {}}},
		{"one is to be tried again", 6 * minute, []thread.Change{later, delivered}, []thread.Hint{{At: wakes, WakeAt: wakes}, {}}},
		{"one is sent again", 6 * minute, []thread.Change{sent, delivered}, []thread.Hint{{WakeAt: wakes}, {}}},
		{"before the time is near", 5*minute - 1, []thread.Change{delivered, later}, []thread.Hint{{}, {}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &hinted{t: t, now: start}
			w.does(0, aRun)
			w.does(0, taken)
			for _, m := range []string{"m1", "m2"} {
				w.does(0, thread.Send{ID: id(m), Run: w.head.Run.ID})
			}
			w.sleep(false, wakes)
			w.now += tt.after
			for i, change := range tt.does {
				got := thread.Hint{}
				if hint := w.does(0, change).Hint; hint != nil {
					got = thread.Hint{At: hint.At, WakeAt: hint.WakeAt}
				}
				if got != tt.want[i] {
					t.Errorf("change %d sends %+v, want %+v", i, got, tt.want[i])
				}
			}
		})
	}
}
