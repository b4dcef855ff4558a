package replay_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A replay refuses the request that was refused, and chooses the others by the window that
// the process had learnt then.
func TestReplayOfAWindowThatWasLearnt(t *testing.T) {
	for name, limit := range map[string]int{"the provider says the window": 2_048, "it says nothing": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := 0
				c := code{bare: true, turns: func(_ int, yield func(model.Delta, error) bool, r model.Request) {
					size := 0
					for _, m := range r.Messages {
						size += len(m.Text())
					}
					if size > 8_000 {
						refused++
						yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Message: "too long", Limit: limit})
						return
					}
					says("ok", yield)
				}}
				r := newRecorder(t, c)
				var runs []mailbox.Receipt
				for range 8 {
					runs = append(runs, r.submit(t, strings.Repeat("x", 2_000), ""))
					r.work(t)
				}
				if refused == 0 || limit > 0 && refused != 1 {
					t.Fatalf("%d requests were refused", refused)
				}
				got := r.replayed(t, c, core.ID{}, runs...)
				if n := strings.Count(got, ": the same"); n != len(runs) {
					t.Errorf("%d of %d runs are the same:\n%s", n, len(runs), got)
				}
			})
		})
	}
}
