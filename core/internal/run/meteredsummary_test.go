package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// lastMetered is what the newest turn's record says that its run has asked of models.
func (w *world) lastMetered(t *testing.T) []core.ModelUse {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(w.head(t, key).Seq)).Payload)
	if err != nil || e.Totals == nil || e.Totals.Metered == nil {
		t.Fatalf("the newest entry is %+v, %v", e, err)
	}
	if e.Totals.Usage != (core.Usage{}) {
		t.Errorf("the run's turns have used %+v", e.Totals.Usage)
	}
	return e.Totals.Metered.Models
}

// What a model has used for a summary is metered by the run whose step finds it, whether
// it can use it or not, and by no run behind it.
func TestASummaryIsMeteredByTheRunThatFindsIt(t *testing.T) {
	turn := core.ModelUse{Model: "scripted", Inferences: 1}
	both := core.ModelUse{Model: "scripted", Usage: core.Usage{Input: 300, Output: 20}, Inferences: 2}
	counted := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 300, Output: 20}}
	nothing := func(int) ([]model.Delta, error) { return append([]model.Delta{counted}, text(" ")...), nil }
	tests := []struct {
		name string
		how  agent.Compaction
		say  func(int) ([]model.Delta, error)
		want []core.ModelUse // of the run of each question
	}{
		{"used", compaction.Background, nil, []core.ModelUse{turn, turn, turn, both, both}},
		{"of no use", compaction.Background, nothing, []core.ModelUse{turn, turn, turn, both, turn}},
		{"within the step", agent.CompactInline, nil, []core.ModelUse{turn, turn, both, both, both}},
		{"within the step, of no use", agent.CompactInline, nothing, []core.ModelUse{turn, turn, both, turn, turn}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{say: tt.say}, &compactions{}
				w := newWorld(t, options{model: short(said), context: compacting(tt.how), compact: hints.add, metering: &accounting.Metering{Keep: time.Hour}})
				for n, want := range tt.want {
					w.ask(t, n, 0)
					if diff := cmp.Diff([]core.ModelUse{want}, w.lastMetered(t)); diff != "" {
						t.Errorf("question %d (-want +got):\n%s", n, diff)
					}
					hints.follow(t, w.stepper)
				}
			})
		})
	}
}

// A summary whose turn was taken back before anybody used it is in no run's usage.
func TestASummaryThatNobodyUsesIsInNoRunsUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add, metering: &accounting.Metering{Keep: time.Hour}})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		hints.follow(t, w.stepper)
		w.ask(t, 3, 1) // the whole thread is taken back
		if diff := cmp.Diff([]core.ModelUse{{Model: "scripted", Inferences: 1}}, w.lastMetered(t)); diff != "" || said.made != 1 {
			t.Errorf("behind %d summaries (-want +got):\n%s", said.made, diff)
		}
	})
}

// used is what is counted of the tenant today, runs and slots apart.
func (w *world) used(t *testing.T) string {
	t.Helper()
	a, err := w.store.Admission(t.Context(), key.Tenant, calendar.Day(time.Now().UnixMilli()))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d tokens, %s USD", a.Tokens, a.Spend)
}

// A summary is charged when it is made, whether anybody uses it or not, by whoever makes
// it; where money is not limited no cost is counted.
func TestASummaryIsChargedWhenItIsMade(t *testing.T) {
	money := account.Limits{SpendADay: 100 * core.USD(1e9)}
	const nothing, one = "0 tokens, 0 USD", "320 tokens, 3.2 USD"
	tests := []struct {
		name   string
		how    agent.Compaction
		limits account.Limits
		say    func(int) ([]model.Delta, error)
		made   string // behind the third question, and the hint
		later  string // behind the question that takes all back
	}{
		{"no limits", compaction.Background, account.Limits{}, nil, nothing, nothing},
		{"money", compaction.Background, money, nil, one, one},
		{"tokens", compaction.Background, account.Limits{TokensADay: 1000}, nil, "320 tokens, 0 USD", "320 tokens, 0 USD"},
		{"of no use", compaction.Background, money, func(int) ([]model.Delta, error) {
			return append([]model.Delta{{Type: model.DeltaUsage, Usage: core.Usage{Input: 200}}}, text(strings.Repeat("y", 4400))...), nil
		}, "200 tokens, 2 USD", "200 tokens, 2 USD"},
		{"within the step", agent.CompactInline, money, nil, one, one},
		{"a model that says no count", compaction.Background, money, func(int) ([]model.Delta, error) { return text("so"), nil }, nothing, nothing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{say: tt.say}, &compactions{}
				w := newWorld(t, options{model: short(said), context: compacting(tt.how), compact: hints.add, limits: tt.limits})
				for n := range 3 {
					w.ask(t, n, 0)
				}
				if got := w.used(t); tt.how == compaction.Background && got != nothing {
					t.Errorf("before the summary is made %s", got)
				}
				hints.follow(t, w.stepper)
				if got := w.used(t); got != tt.made || said.made != 1 {
					t.Errorf("behind %d summaries %s, want %s", said.made, got, tt.made)
				}
				w.ask(t, 3, 1)
				hints.follow(t, w.stepper)
				if got := w.used(t); got != tt.later || said.made != 1 {
					t.Errorf("in the end, behind %d summaries, %s, want %s", said.made, got, tt.later)
				}
			})
		})
	}
}

// A tenant that is over a limit may not ask a model for a summary either.
func TestASummaryThatTheTenantMayNotHave(t *testing.T) {
	for _, tokens := range []int64{320, 321} {
		t.Run(fmt.Sprint(tokens, " tokens a day"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{}, &compactions{}
				o := options{model: short(said), context: compacting(compaction.Background), compact: hints.add}
				w := newWorld(t, o)
				for n := range 3 {
					w.ask(t, n, 0)
				}
				o.limits.TokensADay = tokens
				w.stepper = w.other(t, o)
				hints.follow(t, w.stepper) // uses 320
				before := said.made
				o.limits = account.Limits{}
				w.stepper = w.other(t, o)
				w.ask(t, 3, 0)
				o.limits.TokensADay = tokens
				w.stepper = w.other(t, o)
				hints.follow(t, w.stepper)
				if want := map[int64]int{320: 1, 321: 2}[tokens]; before != 1 || said.made != want {
					t.Errorf("%d and then %d summaries were made, want 1 and %d", before, said.made, want)
				}
			})
		})
	}
}

// No summary is made with a model of no known price where the tenant's money is limited.
func TestASummaryOfAModelWithoutAPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		o := options{agents: bound(t, short(said), 100_000, agent.Spec{Context: compacting(compaction.Background)}, nil), compact: hints.add}
		w := newWorld(t, o)
		for n := range 3 {
			w.ask(t, n, 0)
		}
		limited := o
		limited.limits.SpendADay = 100 * core.USD(1e9)
		if err := w.other(t, limited).Summaries().Compact(t.Context(), key); err != nil || said.made != 0 {
			t.Errorf("%v, behind %d summaries; want none", err, said.made)
		}
		if hints.follow(t, w.stepper); said.made != 1 {
			t.Errorf("%d summaries without a limit, want one", said.made)
		}
	})
}
