package thread_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// apply applies a change that has to be accepted.
func apply(t *testing.T, h thread.Head, now int64, c thread.Change) (thread.Head, thread.Result) {
	t.Helper()
	next, result, err := thread.Apply(h, thread.Transition{Now: now, CommitID: id("c"), Announce: true, Change: c})
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return next, result
}

// A zero time stands for none, so that what happens at the beginning of all time happened
// a millisecond later, where that counts, and what is due then is due.
func TestAtTheBeginningOfTime(t *testing.T) {
	h, result := apply(t, thread.Head{}, 0, thread.Enqueue{Dispatch: id("d"), Run: id("r"), Child: true})
	if diff := cmp.Diff(&thread.Hint{Dispatch: id("d")}, result.Hint); diff != "" || h.DueAt != 1 {
		t.Errorf("due at %d, the hint (-want +got):\n%s", h.DueAt, diff)
	}
	take := thread.Transition{CommitID: id("c"), Meter: true, Announce: true, Change: thread.TakeClaim{Worker: "w", Lease: 10}}
	h, _, err := thread.Apply(h, take)
	if err != nil || h.Run.Stretch.Since != 1 {
		t.Errorf("the stretch began at %d, %v; want 1", h.Run.Stretch.Since, err)
	}
	round, _ := apply(t, h, 0, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1})
	asked, _ := apply(t, round, 0, thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Decision: 9, Deadline: -5, WakeAt: -5}}})
	if asked.Run.WaitsSince != 1 {
		t.Errorf("it waits since %d, want 1", asked.Run.WaitsSince)
	}
	if diff := cmp.Diff(thread.Tickets{{ID: 1}}, asked.Tickets); diff != "" {
		t.Errorf("a ticket is open, and has no time before the first (-want +got):\n%s", diff)
	}
	lacking, _ := apply(t, h, 0, thread.Nack{Fence: 1, Kind: thread.NackLacks})
	if lacking.Run.LacksSince != 1 {
		t.Errorf("it lacks something since %d, want 1", lacking.Run.LacksSince)
	}
	closing, _ := apply(t, h, 0, thread.Cancel{})
	over, _ := apply(t, closing, 0, thread.CommitClose{Fence: 1})
	gone, _ := apply(t, h, 0, thread.Delete{})
	if closing.ClosingAt != 0 || gone.ClosingAt != 0 {
		t.Errorf("closing since %d, deleted at %d, want 0 of both", closing.ClosingAt, gone.ClosingAt)
	}
	// The announcement of a close is its holder's for two seconds.
	owed := thread.Outbox{{ID: id("r"), Kind: thread.OutboxChildEnded}, {ID: id("r"), Kind: thread.OutboxEnded, Next: 2_000}}
	if diff := cmp.Diff(owed, over.Outbox); diff != "" {
		t.Errorf("what is owed behind the close (-want +got):\n%s", diff)
	}
	owed[1].Next = 0
	if diff := cmp.Diff(owed, gone.Outbox); diff != "" {
		t.Errorf("what is owed behind the deletion (-want +got):\n%s", diff)
	}
	if gone, _ = apply(t, h, 77, thread.Delete{}); gone.ClosingAt != 77 {
		t.Errorf("deleted at %d, want 77", gone.ClosingAt)
	}
	if later, _ := apply(t, gone, 77, thread.Delivered{ID: id("r"), Kind: thread.OutboxChildEnded, Next: -5}); later.Outbox[0].Next != 0 {
		t.Errorf("it is tried again at %d, want 0", later.Outbox[0].Next)
	}
}

func TestOfWhatIsHeld(t *testing.T) {
	none := thread.Head{}
	if none.Live(0) || none.TakenBy(core.ID{}) || none.Suspect() {
		t.Error("a thread without a claim has one")
	}
	left := thread.Head{Claim: thread.Claim{CommitID: id("k")}, Run: thread.Run{Attempts: 2}}
	if left.TakenBy(id("k")) || left.Suspect() {
		t.Error("what no claim and no run hold counts")
	}
	held := thread.Head{Claim: thread.Claim{Fence: 1}, Run: thread.Run{ID: id("r"), Attempts: 2}}
	if held.TakenBy(core.ID{}) || held.TakenBy(id("k")) || !held.Suspect() {
		t.Error("a claim that was taken by a write without an id is another's")
	}
}

// A refence under a lease of a millisecond renews it, too.
func TestTheShortestLease(t *testing.T) {
	h := thread.Head{Version: 1, Fence: 1, Claim: thread.Claim{Fence: 1, Worker: "w", Lease: 10}, Run: thread.Run{ID: id("r")}}
	if h, _ = apply(t, h, 50, thread.Refence{Fence: 1, Lease: 1}); h.Claim.Lease != 51 {
		t.Errorf("the lease ends at %d, want 51", h.Claim.Lease)
	}
}

func TestNamesMayBeSoLong(t *testing.T) {
	owner := strings.Repeat("o", 128)
	for _, c := range []thread.Change{thread.Create{Owner: owner}, thread.Fork{Owner: owner, Seq: 1}, thread.Fork{Owner: owner, Seq: 999_999_999_999, Summary: 999_999_999_999}} {
		if h, _ := apply(t, thread.Head{}, start, c); h.Owner != owner {
			t.Errorf("%T: the owner is %q", c, h.Owner)
		}
	}
	s := thread.Summary{Text: "so far"}
	if err := s.Check(999_999_999_999); err != nil {
		t.Errorf("the summary of the longest log: %v", err)
	}
}

func TestALargeHeadIsRefusedAtTheByte(t *testing.T) {
	h := thread.Head{Version: 1, Extensions: []thread.Extension{{Tag: 1, Value: make([]byte, 4000)}}}
	next, _ := apply(t, h, start, thread.Touch{})
	h.Extensions[0].Value = make([]byte, 4000+4096-next.Size())
	if next, _ = apply(t, h, start, thread.Touch{}); next.Size() != 4096 {
		t.Errorf("%d bytes are accepted, want 4096", next.Size())
	}
	h.Extensions[0].Value = append(h.Extensions[0].Value, 0)
	_, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id("c"), Change: thread.Touch{}})
	if core.CodeOf(err) != core.CodeTooLarge || err.Error() != "4097 bytes, at most 4096 are allowed: its open and queued work is too large" {
		t.Errorf("a byte more: %v", err)
	}
}

// Whoever appends to the next head's extensions leaves the old one alone.
func TestHeadsShareNoRoom(t *testing.T) {
	h := thread.Head{Version: 1, Run: thread.Run{ID: id("r")}, Extensions: append(make([]thread.Extension, 0, 4), thread.Extension{Tag: 1})}
	next, _ := apply(t, h, start, thread.Touch{})
	_ = append(next.Extensions, thread.Extension{Tag: 2})
	if got := h.Extensions[:2][1].Tag; got != 0 {
		t.Errorf("behind the old head's extensions stands the tag %d", got)
	}
}

// A table that has become empty is as a decoder leaves it.
func TestEmptyTablesAreNone(t *testing.T) {
	held := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	round := must(t, held, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1}, thread.CommitStep{
		Fence: 1, From: 1, Seq: 1, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended}, Tickets: []thread.Ticket{{ID: 1}},
	})
	for _, h := range []thread.Head{
		must(t, held, thread.Input{ID: id("i")}, thread.Retract{ID: id("i")}),
		must(t, held, thread.Enqueue{Dispatch: id("d2"), Run: id("r2")}, thread.Cancel{Run: id("r2")}),
		must(t, round, thread.Input{ID: id("i")}),
	} {
		decoded, err := thread.Decode(h.AppendBinary(nil))
		if err != nil || !reflect.DeepEqual(decoded, h) && len(h.Outbox) == 0 {
			t.Errorf("%v %s", err, cmp.Diff(h, decoded))
		}
		if h.Inbox != nil && len(h.Inbox) == 0 || h.Pending != nil && len(h.Pending) == 0 || h.Tickets != nil && len(h.Tickets) == 0 {
			t.Errorf("an empty table is there: %+v", h)
		}
	}
}

func TestTheKeyOneIsRemembered(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r"), Dedupe: 1})
	if _, result := apply(t, h, start, thread.Enqueue{Dispatch: id("d2"), Run: id("r2"), Dedupe: 1}); !result.Duplicate {
		t.Error("the same key is no duplicate")
	}
}

// An interrupt that brings input names no epoch: it interrupts what the one before brought.
func TestAnInterruptWithInputNeedsNoEpoch(t *testing.T) {
	h := must(t, thread.Head{}, thread.Interrupt{Enqueue: &thread.Enqueue{Dispatch: id("d"), Run: id("r")}})
	next, result := apply(t, h, start, thread.Interrupt{Enqueue: &thread.Enqueue{Dispatch: id("d2"), Run: id("r2")}})
	if result.Duplicate || next.Epoch != 2 || len(next.Pending) != 1 || next.Pending[0].Run != id("r2") {
		t.Errorf("duplicate %v, epoch %d, queued %+v; want r2 alone at epoch 2", result.Duplicate, next.Epoch, next.Pending)
	}
}

func TestWhatAStepReadIsNamedByItsID(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000},
		thread.CommitStep{Fence: 1, Seq: 4, Outcome: thread.Yield, Keep: true}, thread.Input{ID: id("i1")}, thread.Input{ID: id("i2")})
	step := thread.CommitStep{Fence: 1, From: 4, Seq: 6, Outcome: thread.Yield, Consumed: []thread.InboxRef{{ID: id("i2"), Seq: 5}}}
	next, result := apply(t, h, start, step)
	if diff := cmp.Diff(thread.Inbox{{ID: id("i1")}}, next.Inbox); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]thread.Audit{{ID: id("i2"), Run: id("r"), Read: 5, Status: core.DispatchAcked}}, result.Before); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}
	step.Consumed[0].Seq = 4
	_, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id("c"), Change: step})
	if want := "commit: input " + id("i2").String() + " is read at sequence 4, the commit makes 5 to 6 visible"; err == nil || err.Error() != want {
		t.Errorf("read before the commit: %v, want %s", err, want)
	}
	if _, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id("c"), Change: thread.Input{ID: id("i3"), Kind: 2}}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("input of no kind: %v", err)
	}
}
