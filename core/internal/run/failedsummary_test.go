package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/model"
)

// What a step has come to about a summary holds although its inference has failed: the
// steps behind it do not look for the summary again, nor tell of it, nor meter it, whether
// their process remembers the thread or reads it.
func TestWhatAFailedInferenceHasComeToAboutASummaryHolds(t *testing.T) {
	counted := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 300, Output: 20}}
	nothing := func(int) ([]model.Delta, error) { return append([]model.Delta{counted}, text(" ")...), nil }
	busy := func(int) ([]model.Delta, error) { return nil, &model.Error{Kind: model.KindOverloaded} }
	used := func(inferences int) []core.ModelUse {
		return []core.ModelUse{{Model: "scripted", Usage: core.Usage{Input: 300, Output: 20}, Inferences: inferences}}
	}
	tests := []struct {
		name    string
		how     agent.Compaction
		say     func(int) ([]model.Delta, error)
		fails   int // so many inferences, of this question
		at      int
		told    []string
		metered []core.ModelUse
		made    int // in the end
		window  core.Window
	}{
		{"of no use", compaction.Background, nothing, 3, 3, []string{"context_skipped refused 2 0 0"}, used(5), 1, core.Window{Skipped: 2}},
		{"used", compaction.Background, nil, 3, 3, []string{"context_compacted 2 1119 22"}, used(5), 2, core.Window{Summary: 2, Compact: 4}},
		{"within the step, of no use", agent.CompactInline, nothing, 3, 2, []string{"context_skipped refused 2 0 0"}, used(5), 1, core.Window{Skipped: 2}},
		{"within the step, used", agent.CompactInline, nil, 3, 2, []string{"context_compacted 2 1119 22"}, used(5), 1, core.Window{Summary: 2}},
		{"within the step, a model that fails for now", agent.CompactInline, busy, 2, 2, []string{"context_skipped model 2 0 0"},
			[]core.ModelUse{{Model: "scripted", Inferences: 3}}, 3, core.Window{Skipped: 2}},
	}
	for _, tt := range tests {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", cold ", cold), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said, hints, fails := &summaries{say: tt.say}, &compactions{}, 0
					o := options{
						context: compacting(tt.how), compact: hints.add, metering: &accounting.Metering{Keep: time.Hour},
						stop: []agent.StopPolicy{consecutiveErrors(10)},
						model: modelFunc(func(ctx context.Context, r model.Request) iterator {
							if r.Messages[0].ID != "summary" && fails > 0 {
								fails--
								return replies([]model.Delta{{Text: "broken"}})(ctx, model.Request{})
							}
							return short(said)(ctx, r)
						}),
					}
					if cold {
						o.cache = 1 // byte
					}
					w, stream := newWorld(t, o), &openings{}
					for n := range tt.at + 1 {
						if n == tt.at {
							fails = tt.fails
						}
						w.askTo(t, n, stream)
						hints.follow(t, w.stepper)
					}
					told := slices.DeleteFunc(*stream, func(s string) bool { return !strings.HasPrefix(s, "context_") })
					if diff := cmp.Diff(tt.told, []string(told)); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.metered, w.lastMetered(t)); diff != "" || fails != 0 || said.made != tt.made {
						t.Errorf("%d summaries were made, %d failures are left (-want +got):\n%s", said.made, fails, diff)
					}
					got := w.window(t)
					if got = (core.Window{Summary: got.Summary, Compact: got.Compact, Skipped: got.Skipped}); got != tt.window || w.head(t, key).Summary != tt.window.Summary {
						t.Errorf("the turn's record says %+v, want %+v; the head's summary is %d", got, tt.window, w.head(t, key).Summary)
					}
				})
			})
		}
	}
}
