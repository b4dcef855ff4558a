package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A failed inference that uses up a limit ends its run with the commit of its failure.
func TestAFailedInferenceThatUsesUpALimitEndsItsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(context.Context, model.Request) iterator {
			return func(yield func(model.Delta, error) bool) {
				if yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 7}}, nil) {
					yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized})
				}
			}
		})
		w := newWorld(t, options{model: m, limits: account.Limits{TokensADay: 7}, stop: []agent.StopPolicy{consecutiveErrors(9)}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		if got := w.step(t, key); got.Outcome != thread.Done {
			t.Errorf("the step comes to %s, want the end", got.Outcome)
		}
		if diff := cmp.Diff([]string{"user: hi", "failed: unauthorized"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got, want := w.end(t, key, receipt), `done 1 {"type":"stopped","code":"tenant_limit"`; !strings.HasPrefix(got, want) {
			t.Errorf("the run is %s, want %s", got, want)
		}
	})
}

// What a summary has cost is metered under the provider that has made it; and where nothing
// is said that could be summed up none is made, however low the threshold.
func TestASummaryOfALowThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &summaries{}
		agents, err := registry.New(agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: short(said), Name: "small", Provider: "p"}},
			Specs:  []agent.Spec{{ID: "demo", Model: "m", Context: &agent.ContextWindowPolicy{AutocompactThreshold: 3, Compaction: agent.CompactInline}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{agents: agents, metering: &accounting.Metering{Keep: time.Hour}})
		for n, want := range []int{0, 0, 1} {
			w.ask(t, n, 0)
			if said.made != want {
				t.Errorf("%d summaries behind question %d, want %d", said.made, n, want)
			}
			if got := w.window(t); got.Skipped != 0 {
				t.Errorf("the turn's record says %+v", got)
			}
		}
		want := []core.ModelUse{{Model: "small", Provider: "p", Usage: core.Usage{Input: 300, Output: 20}, Inferences: 2}}
		if diff := cmp.Diff(want, w.lastMetered(t)); diff != "" {
			t.Errorf("metered (-want +got):\n%s", diff)
		}
	})
}
