package replay_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// Input that was steered to a run keeps it from its natural end, also when it is taken back
// before the next step has read it: no record has that input, and the step is there.
func TestReplayOfAStepForInputThatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var said mailbox.Receipt
		first := code{turns: func(n int, yield func(model.Delta, error) bool, _ model.Request) {
			if n == 0 {
				said = r.submit(t, "wait", mailbox.ModeSteer)
			}
			says("ok", yield)
		}}
		r = newRecorder(t, first)
		run := r.submit(t, "hi", "")
		if errs := r.WorkBatch(t.Context(), r.hints[:1]); errs[0] != nil { // the first step
			t.Fatal(errs)
		}
		if err := r.RetractInput(t.Context(), ann, key.Thread, said.DispatchID); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		if diff := cmp.Diff("thread t1 run RUN1 (agent a, 2 steps, 6 records): the same", r.replayed(t, code{}, core.ID{}, run)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
