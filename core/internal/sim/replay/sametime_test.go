package replay_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Two runs of one thread were submitted in the same millisecond. The second one has no outcome
// of its first step, so that a replay of it gives back its claim with its third write. That
// write has another id than the third write of the first run, its end.
func TestReplayOfRunsThatWereSubmittedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{bare: true, turns: func(_ int, yield func(model.Delta, error) bool, r model.Request) {
			if r.Messages[len(r.Messages)-1].Text() == "second" {
				yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: "no"})
				return
			}
			says("ok", yield)
		}}
		r := newRecorder(t, c)
		first, second := r.submit(t, "first", ""), r.submit(t, "second", "")
		r.work(t)
		want := "thread t1 run RUN1 (agent a, 1 steps, 2 records): the same\n" +
			"thread t1 run RUN2 (agent a, 0 steps, 1 records): the same"
		if diff := cmp.Diff(want, r.replayed(t, c, core.ID{}, first, second)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
