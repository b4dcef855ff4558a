package thread_test

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A run from its enqueue to its end. Each new head is written by one
// compare-and-set; what must be stored before it and sent after it is in the
// result.
func ExampleApply() {
	var head thread.Head
	clock := int64(1_700_000_000_000)
	apply := func(change thread.Change) thread.Result {
		clock++
		next, result, err := thread.Apply(head, thread.Transition{Now: clock, CommitID: core.ID{byte(clock)}, Change: change})
		if err != nil {
			fmt.Println("refused:", err)
		}
		head = next
		return result
	}

	result := apply(thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{2}, Owner: "ann"})
	fmt.Println("hint to send:", result.Hint != nil)

	result = apply(thread.TakeClaim{Worker: "w1", Lease: 30_000})
	fence := head.Claim.Fence
	fmt.Println("claimed:", result.Claimed, "under fence", fence)

	// The question is stored at sequence 1, the turn with its call at 2.
	apply(thread.CommitTurn{Fence: fence, Seq: 2, Calls: 1, TurnFence: fence})
	fmt.Println("visible up to", head.Seq, "and the result belongs at", head.Run.Base)

	result = apply(thread.CommitStep{Fence: fence, From: 2, Outcome: thread.Yield, Seq: 3, Calls: []thread.CallStatus{thread.CallDone}})
	fmt.Println("step:", result.Outcome)

	apply(thread.TakeClaim{Worker: "w2", Lease: 30_000})
	result = apply(thread.CommitStep{Fence: head.Claim.Fence, From: 3, Outcome: thread.Done, Natural: true, Seq: 4})
	fmt.Println("step:", result.Outcome, "at", head.Seq, "with a run open:", head.Open())

	// Output:
	// hint to send: true
	// claimed: true under fence 1
	// visible up to 2 and the result belongs at 3
	// step: yield
	// step: done at 4 with a run open: false
}

// A call that needs a person suspends. The run waits without a claim until
// somebody decides.
func ExampleApply_approval() {
	var head thread.Head
	apply := func(change thread.Change) thread.Result {
		next, result, err := thread.Apply(head, thread.Transition{Now: 1_700_000_000_000, CommitID: core.ID{1}, Change: change})
		if errors.Is(err, thread.ErrDecided) {
			fmt.Println("somebody else decided first")
		}
		head = next
		return result
	}
	run := core.ID{2}
	apply(thread.Enqueue{Dispatch: core.ID{1}, Run: run})
	apply(thread.TakeClaim{Worker: "w1", Lease: 30_000})
	apply(thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1, TurnFence: 1})

	result := apply(thread.CommitStep{Fence: 1, From: 2, Outcome: thread.Wait, Seq: 2, Tickets: []thread.Ticket{{Call: 0, ID: 77}}})
	fmt.Println(result.Outcome, "- claimed:", head.Claim.Fence != 0)

	result = apply(thread.Decide{Run: run, Call: 0, Decision: 1001, Resume: true})
	fmt.Println(head.Run.Calls[0], "- hint:", result.Hint != nil)

	result = apply(thread.Decide{Run: run, Call: 0, Decision: 1001, Resume: true})
	fmt.Println("the same again is a duplicate:", result.Duplicate)
	apply(thread.Decide{Run: run, Call: 0, Decision: 1002, Resume: false})

	// Output:
	// wait - claimed: false
	// resuming - hint: true
	// the same again is a duplicate: true
	// somebody else decided first
}
