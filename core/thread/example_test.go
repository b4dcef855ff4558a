package thread_test

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// A run from its enqueue to its end. Each new head is written by one
// compare-and-set; what must be stored before it and sent after it is in the
// effects.
func ExampleApply() {
	var head thread.Head
	clock := int64(1_700_000_000_000)
	apply := func(action thread.Action) thread.Effects {
		clock++
		next, effects, err := thread.Apply(head, thread.Command{Now: clock, CommitID: core.ID{byte(clock)}, Action: action})
		if err != nil {
			fmt.Println("refused:", err)
		}
		head = next
		return effects
	}

	effects := apply(thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{2}, Owner: "ann"})
	fmt.Println("hint to send:", effects.Hint != nil)

	effects = apply(thread.Claim{Worker: "w1", Lease: 30_000})
	fence := head.Claim.Fence
	fmt.Println("claimed:", effects.Claimed, "under fence", fence)

	// The question is stored at sequence 1, the turn with its call at 2.
	apply(thread.CommitTurn{Fence: fence, Seq: 2, Calls: []thread.CallStatus{thread.CallNew}})
	fmt.Println("visible up to", head.Seq, "and the result belongs at", head.Run.Base)

	effects = apply(thread.CommitStep{Fence: fence, Outcome: thread.Yield, Seq: 3, Calls: []thread.CallStatus{thread.CallDone}})
	fmt.Println("step:", effects.Outcome)

	apply(thread.Claim{Worker: "w2", Lease: 30_000})
	effects = apply(thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Done, Seq: 4})
	fmt.Println("step:", effects.Outcome, "at", head.Seq, "with a run open:", head.Open())

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
	apply := func(action thread.Action) thread.Effects {
		next, effects, err := thread.Apply(head, thread.Command{Now: 1_700_000_000_000, CommitID: core.ID{1}, Action: action})
		if errors.Is(err, thread.ErrDecided) {
			fmt.Println("somebody else decided first")
		}
		head = next
		return effects
	}
	run := core.ID{2}
	apply(thread.Enqueue{Dispatch: core.ID{1}, Run: run})
	apply(thread.Claim{Worker: "w1", Lease: 30_000})
	apply(thread.CommitTurn{Fence: 1, Seq: 2, Calls: []thread.CallStatus{thread.CallNew}})

	effects := apply(thread.CommitStep{Fence: 1, Outcome: thread.Wait, Seq: 2, Tickets: []thread.Ticket{{Call: 0, ID: 77}}})
	fmt.Println(effects.Outcome, "- claimed:", head.Claim.Fence != 0)

	effects = apply(thread.Decide{Run: run, Call: 0, Decision: 1001, Resume: true})
	fmt.Println(head.Run.Calls[0], "- hint:", effects.Hint != nil)

	effects = apply(thread.Decide{Run: run, Call: 0, Decision: 1001, Resume: true})
	fmt.Println("the same again is a duplicate:", effects.Duplicate)
	apply(thread.Decide{Run: run, Call: 0, Decision: 1002, Resume: false})

	// Output:
	// wait - claimed: false
	// resuming - hint: true
	// the same again is a duplicate: true
	// somebody else decided first
}
