package run_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/model"
)

// A summary in the background is made by the member of the pool that has said the turn
// which asks for it: the home may have no quota any more, and its circuit knows nothing
// of that.
func TestTheMemberThatSpokeMakesTheSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, summed int // calls of the home
		home := modelFunc(func(_ context.Context, r model.Request) iterator {
			if r.Messages[0].ID == "summary" {
				summed++
			} else {
				asked++
			}
			return func(yield func(model.Delta, error) bool) { yield(model.Delta{}, &model.Error{Kind: model.KindQuota}) }
		})
		other, hints := &summaries{}, &compactions{}
		agents, err := registry.New(agent.Parts{
			Models: map[string]agent.ModelBinding{"a": {Model: home, Name: "first", Provider: "p"}, "b": {Model: short(other), Name: "second", Provider: "q"}},
			Pools:  []agent.ModelPoolSpec{{ID: "pool", Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{{Model: "a"}, {Model: "b"}}}},
			Specs:  []agent.Spec{{ID: "demo", Model: "pool", Context: compacting(compaction.Background)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{agents: agents, compact: hints.add})
		for n := range 5 {
			w.ask(t, n, 0)
			hints.follow(t, w.stepper)
		}
		if asked != 1 || summed != 0 || other.turns != 5 || other.made != 3 {
			t.Errorf("the home was asked for %d turns and %d summaries, the other member for %d and %d; want 1 and 0, 5 and 3", asked, summed, other.turns, other.made)
		}
		if got := w.head(t, key).Summary; got != 4 {
			t.Errorf("the summary up to %d is in force, want 4", got)
		}
	})
}
