package thread_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// timed applies a change at a time, under a commit id of that time.
func timed(t *testing.T, h thread.Head, at int64, c thread.Change) thread.Head {
	t.Helper()
	commit := core.ID{byte(at >> 40), byte(at >> 32), byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at), 0x70, 1}
	next, result, err := thread.Apply(h, thread.Transition{Now: at, CommitID: commit, Change: c})
	if err != nil || result.Unchanged {
		t.Fatalf("%T at %d: %v, unchanged %v", c, at, err, result.Unchanged)
	}
	decoded, err := thread.Decode(next.AppendBinary(nil))
	if diff := cmp.Diff(next, decoded); err != nil || diff != "" {
		t.Fatalf("%T: %v (-want +got):\n%s", c, err, diff)
	}
	return next
}

func TestAClaimSaysHowLongItsRunWasDue(t *testing.T) {
	const began = 1_000_000
	dispatch := core.ID{0, 0, 0, 0x0f, 0x42, 0x40, 0x70} // of that time
	enqueue := thread.Enqueue{Dispatch: dispatch, Run: id("r"), Owner: "ann"}
	claim := thread.TakeClaim{Worker: "w", Lease: 30_000}
	h := timed(t, timed(t, thread.Head{}, began, enqueue), began+700, claim)
	if h.Claim.Queued != 700 {
		t.Errorf("the first claim: due for %d ms, want 700", h.Claim.Queued)
	}
	kept := timed(t, h, began+1000, thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: 1, Keep: true, Lease: 30_000})
	if kept.Claim.Queued != 0 {
		t.Errorf("the next step of the claim: due for %d ms, want 0", kept.Claim.Queued)
	}
	yielded := timed(t, h, began+1000, thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: 1})
	if got := timed(t, yielded, began+1250, claim).Claim.Queued; got != 250 {
		t.Errorf("the claim after a yield: due for %d ms, want 250", got)
	}
	nacked := timed(t, h, began+1000, thread.Nack{Fence: 1, Kind: thread.NackModel, AvailableAt: began + 3000})
	if got := timed(t, nacked, began+3010, claim).Claim.Queued; got != 10 {
		t.Errorf("the claim after a pause: due for %d ms, want 10", got)
	}
	taken := timed(t, h, began+40_000, claim) // the lease ended at 30,700
	if got := taken.Claim.Queued; got != 9300 {
		t.Errorf("the claim after a lost one: due for %d ms, want 9300", got)
	}
	want := []thread.Loss{{Step: 1, Claimed: began + 700, Lost: began + 30_700, Began: began + 40_000}}
	if diff := cmp.Diff(want, taken.Times().Losses); diff != "" {
		t.Errorf("what was lost (-want +got):\n%s", diff)
	}
}

// Only the wait counts in which nothing of the run works, and only one for a person or a
// client.
func TestTheTimeThatARunWaits(t *testing.T) {
	h := timed(t, thread.Head{}, 1_000, thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d"), Run: id("r")}, Worker: "w", Lease: 30_000})
	h = timed(t, h, 1_100, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 2, TurnFence: 1})
	asks := func(kind thread.TicketKind) []thread.Ticket { return []thread.Ticket{{Call: 0, ID: 5, Kind: kind}} }
	h = timed(t, h, 1_200, thread.Suspend{Fence: 1, Tickets: asks(thread.TicketPerson)})
	if got := h.Times(); got.Since != 0 {
		t.Errorf("it is idle since %d while a sibling runs", got.Since)
	}
	wait := thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended, thread.CallDone}, Tickets: asks(thread.TicketPerson)}
	h = timed(t, h, 2_000, wait)
	if got := h.Times(); got.Since != 2_000 || got.Waited != 0 {
		t.Errorf("when the round waits: %+v, want idle since 2000", got)
	}
	cancelled := timed(t, h, 4_000, thread.Cancel{Run: id("r")})
	if got := cancelled.Times(); got.Since != 0 || got.Waited != 2_000 {
		t.Errorf("when it is cancelled: %+v, want 2000 ms", got)
	}
	h = timed(t, h, 5_500, thread.Decide{Run: id("r"), Call: 0, Ticket: 5, Decision: 7, Resume: true})
	if got := h.Times(); got.Since != 0 || got.Waited != 3_500 {
		t.Errorf("when it is decided: %+v, want 3500 ms", got)
	}
}

// The head keeps the newest losses, and the size of a head has a bound.
func TestTheHeadKeepsEightLosses(t *testing.T) {
	h := timed(t, thread.Head{}, 1_000, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	size := 0
	for i := range int64(9) {
		h.Run.Attempts = 0
		h = timed(t, h, 10_000*(i+1), thread.TakeClaim{Worker: "w", Lease: 3_000, Alone: true})
		h = timed(t, h, 10_000*(i+1)+1_000, thread.Reclaim{})
		losses := h.Times().Losses
		if want := min(int(i)+1, 8); len(losses) != want || int64(h.Run.Lost) != i+1 {
			t.Fatalf("after %d losses: %d are kept and %d counted, want %d", i+1, len(losses), h.Run.Lost, want)
		}
		if i == 7 {
			size = h.Size()
		}
	}
	if got := h.Times().Losses; got[0].Claimed != 20_000 || got[7].Claimed != 90_000 || got[7].Lost != 91_000 || got[7].Began != 0 {
		t.Errorf("the losses are %+v", got)
	}
	if h.Size() > size+8 || len(h.Extensions) != 1 || len(h.Extensions[0].Value) > 300 {
		t.Errorf("%d bytes after eight losses, %d after nine", size, h.Size())
	}
	h.Extensions[0].Value = []byte{0xff}
	if got := h.Times(); len(got.Losses) != 0 || got.Waited != 0 {
		t.Errorf("a value that no program wrote is %+v", got)
	}
}

func TestSixteenAttemptsAreKept(t *testing.T) {
	var list []thread.Attempt
	for i := range int64(17) {
		list = thread.KeepAttempt(list, thread.Attempt{Began: i + 1})
		if i == 15 && (len(list) != 16 || list[0].Began != 1) {
			t.Fatalf("of sixteen: %v", list)
		}
	}
	if len(list) != 16 || list[0].Began != 2 || list[15].Began != 17 {
		t.Errorf("of seventeen: %s", fmt.Sprint(list))
	}
}
