package compaction_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

const skipped = `level=WARN msg="no summary made, older messages omitted" run=01000000-0000-0000-0000-000000000000 up_to=2 error=`

// A reason that another try would meet again stands in the record, and in the log. The
// conversation costs 1,016 tokens, and a summary must save 0.3 of them unless the agent
// says otherwise.
func TestWhyASummaryIsSkipped(t *testing.T) {
	ratio := func(r float64) *agent.ContextWindowPolicy {
		p := compacting()
		p.MinSavingsRatio = &r
		return p
	}
	tests := []struct {
		name    string
		policy  *agent.ContextWindowPolicy
		before  *thread.Summary
		say     answer
		text    string
		skipped string
		logged  string
	}{
		{"nothing said", nil, nil, says(" \n"), "", "refused", `"skipped: refused"`},
		{"filtered", nil, nil, stopped("no", core.StopContentFilter), "", "refused", `"skipped: refused"`},
		{"cut off by the limit", nil, nil, stopped("half a", core.StopMaxTokens), "", "too_long", `"skipped: too_long"`},
		{"cut off by the window", nil, nil, stopped("half a", core.StopContextOverflow), "", "too_long", `"skipped: too_long"`},
		{"a stop of another kind", nil, nil, stopped("whole", core.StopOther), "whole", "", ""},
		{"a stop that says no kind", nil, nil, stopped("whole", ""), "whole", "", ""},
		{"a model that fails for good", nil, nil, fails(&model.Error{Kind: model.KindUnauthorized, Message: "no key"}), "", "model", `"skipped: model\nno key"`},
		{"an adapter that breaks", nil, nil, fails(errors.New("broken")), "", "model", `"skipped: model\nbroken"`},
		// Of 2,768 bytes a summary costs 711 tokens, of one more 712.
		{"saves little", nil, nil, says(strings.Repeat("y", 2768)), strings.Repeat("y", 2768), "", ""},
		{"saves too little", nil, nil, says(strings.Repeat("y", 2769)), "", "savings", `"skipped: savings"`},
		{"saves half", ratio(0.5), nil, says(strings.Repeat("y", 1956)), strings.Repeat("y", 1956), "", ""},
		{"saves less than half", ratio(0.5), nil, says(strings.Repeat("y", 1957)), "", "savings", `"skipped: savings"`},
		{"saves nothing, as the agent allows", ratio(0), nil, says(strings.Repeat("y", 3988)), strings.Repeat("y", 3988), "", ""},
		{"costs more", ratio(0), nil, says(strings.Repeat("y", 3989)), "", "savings", `"skipped: savings"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &talker{answers: []answer{tt.say}}
				w := newWorld(t, m, setting{log: conversation(), spec: agent.Spec{Context: tt.policy}})
				w.compact(t)
				got := w.summary(t, 2)
				if got.Text != tt.text || got.Skipped != tt.skipped || got.Model != "large" || got.Provider != "p" || got.Calls != 1 {
					t.Errorf("the summary is %.200v, want %.20q, skipped %q, after one call", got, tt.text, tt.skipped)
				}
				if logged := w.log.String(); (tt.logged == "") != (logged == "") || !strings.HasPrefix(logged, skipped+tt.logged) && logged != "" {
					t.Errorf("logged: %s\nwant    %s%s", logged, skipped, tt.logged)
				}
				w.compact(t) // says no more
				if len(m.asked) != 1 {
					t.Errorf("the model was asked %d times, want once", len(m.asked))
				}
			})
		})
	}
}

// The summary before counts among what another one saves, since that takes its place.
func TestASummaryTakesThePlaceOfTheOneBefore(t *testing.T) {
	log := append(conversation()[:2], asks(strings.Repeat("y", 400)), answers("two"), asks("third"), names(4))
	m := &talker{answers: []answer{says(strings.Repeat("z", 2000))}}
	w := newWorld(t, m, setting{log: log, before: &thread.Summary{Text: strings.Repeat("b", 4000)}})
	w.compact(t)
	if got := w.summary(t, 4); got.Skipped != "" || got.Predecessor != 2 {
		t.Errorf("the summary is %.100v, want a text behind that up to 2", got)
	}
}

// A model that fails for now is asked again behind a pause, as often as the agent says;
// then there is no summary, nor a record that keeps others from trying.
func TestAModelThatFailsForNowIsAskedAgain(t *testing.T) {
	busy, broken := fails(&model.Error{Kind: model.KindOverloaded}), fails(&model.Error{Kind: model.KindProvider})
	later := func(d time.Duration) answer { return fails(&model.Error{Kind: model.KindOverloaded, RetryAfter: d}) }
	half := answer{deltas: []model.Delta{{Type: model.DeltaText, Text: "half a summary, "}}, err: &model.Error{Kind: model.KindInterrupted}}
	torn := answer{deltas: []model.Delta{{Type: model.DeltaText, Text: "half a summary, "}}}
	stops := answer{deltas: []model.Delta{{Type: model.DeltaText, Text: "x"}, {Type: model.DeltaStop, Stop: core.StopMaxTokens}}, err: &model.Error{Kind: model.KindInterrupted}}
	tests := []struct {
		name   string
		retry  agent.Retry
		says   []answer
		calls  int
		waited time.Duration
		text   string
	}{
		{"once", agent.Retry{}, []answer{broken, says("so")}, 2, 500 * time.Millisecond, "so"},
		{"twice", agent.Retry{}, []answer{broken, broken, says("so")}, 3, 1500 * time.Millisecond, "so"},
		{"three times", agent.Retry{}, []answer{broken, broken, broken, says("so")}, 3, 1500 * time.Millisecond, ""},
		{"overloaded", agent.Retry{}, []answer{busy, busy, says("so")}, 3, 6 * time.Second, "so"},
		{"in the middle of a word", agent.Retry{}, []answer{half, says("so")}, 2, 500 * time.Millisecond, "so"},
		{"without a stop", agent.Retry{}, []answer{torn, says("so")}, 2, 500 * time.Millisecond, "so"},
		{"behind a stop", agent.Retry{}, []answer{stops, says("so")}, 2, 500 * time.Millisecond, "so"},
		{"more often than the agent allows", agent.Retry{MaxRetries: new(0)}, []answer{broken, says("so")}, 1, 0, ""},
		{"asks for a pause", agent.Retry{}, []answer{later(5 * time.Second), says("so")}, 2, 5 * time.Second, "so"},
		{"asks for a longer one", agent.Retry{}, []answer{later(5*time.Second + 1), says("so")}, 1, 0, ""},
		{"for now and then for good", agent.Retry{}, []answer{broken, fails(&model.Error{Kind: model.KindInvalid})}, 2, 500 * time.Millisecond, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &talker{answers: tt.says}
				w := newWorld(t, m, setting{log: conversation(), spec: agent.Spec{Retry: tt.retry}})
				began := time.Now()
				w.compact(t)
				waited, got := time.Since(began), w.summary(t, 2)
				if len(m.asked) != tt.calls || waited.Round(10*time.Millisecond) != tt.waited {
					t.Errorf("the model was asked %d times in %s, want %d in %s", len(m.asked), waited, tt.calls, tt.waited)
				}
				switch {
				case tt.text == "" && tt.name != "for now and then for good":
					if got != nil || !strings.HasPrefix(w.log.String(), skipped) {
						t.Errorf("the summary is %+v, logged %q; want none, and a warning", got, w.log.String())
					}
				case got == nil || got.Text != tt.text || got.Calls != tt.calls || tt.text == "" && got.Skipped != "model":
					t.Errorf("the summary is %+v, want %q after %d calls", got, tt.text, tt.calls)
				}
			})
		})
	}
}

// What all calls have used and how long they took stands in the summary, without the
// pauses between them.
func TestASummaryCountsAllItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 200, Output: 1}}
		m := &talker{takes: time.Second, answers: []answer{{deltas: []model.Delta{counted}, err: &model.Error{Kind: model.KindOverloaded}}, says("so")}}
		w := newWorld(t, m, setting{log: conversation(), limits: account.Limits{TokensADay: 10_000}})
		w.compact(t)
		want := &thread.Summary{Text: "so", Model: "large", Provider: "p", Usage: core.Usage{Input: 500, Output: 21}, Calls: 2, Duration: 2000}
		if diff := cmp.Diff(want, w.summary(t, 2)); diff != "" || w.charged(t) != 521 {
			t.Errorf("%d tokens are charged, want 521 (-want +got):\n%s", w.charged(t), diff)
		}
	})
}

// What a summary of no use has cost is charged all the same.
func TestASummaryOfNoUseIsCharged(t *testing.T) {
	counted := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 200, Output: 1}}
	for name, a := range map[string]answer{
		"of no use": {deltas: []model.Delta{counted, {Type: model.DeltaStop, Stop: core.StopEndTurn}}},
		"for good":  {deltas: []model.Delta{counted}, err: &model.Error{Kind: model.KindInvalid}},
		"for now":   {deltas: []model.Delta{counted}, err: &model.Error{Kind: model.KindOverloaded, RetryAfter: time.Minute}},
	} {
		w := newWorld(t, &talker{answers: []answer{a}}, setting{log: conversation(), limits: account.Limits{TokensADay: 10_000}})
		w.compact(t)
		if got := w.charged(t); got != 201 {
			t.Errorf("%s: %d tokens are charged, want 201", name, got)
		}
	}
}

// A tenant that has reached a limit, or whose model has no known price, is made no
// summary; nothing is stored, since another day it may be.
func TestASummaryThatIsForbidden(t *testing.T) {
	tests := []struct {
		name   string
		limits account.Limits
		model  string
		used   int64
		asked  int
		logged string
	}{
		{"under the limit", account.Limits{TokensADay: 100}, "large", 99, 1, ""},
		{"at the limit", account.Limits{TokensADay: 100}, "large", 100, 0, `"limit tokens_a_day of the tenant is reached: 100 of 100, `},
		{"no price", account.Limits{SpendADay: core.USD(1e9)}, "unknown", 0, 0, `"model \"unknown\" has no known price, and the tenant's money is limited"`},
		{"no price, and no limit of money", account.Limits{TokensADay: 100}, "unknown", 0, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &talker{answers: []answer{says("so")}}
			w := newWorldOf(t, agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: m, Name: tt.model, Provider: "p"}}}, "m",
				setting{log: conversation(), limits: tt.limits, spec: agent.Spec{Context: compacting()}})
			w.charge(t, tt.used)
			w.compact(t)
			if got := w.summary(t, 2); len(m.asked) != tt.asked || (got != nil) != (tt.asked == 1) {
				t.Errorf("the model was asked %d times, want %d; the summary is %+v", len(m.asked), tt.asked, got)
			}
			if logged := w.log.String(); !strings.HasPrefix(logged, skipped+tt.logged) && tt.logged+logged != "" {
				t.Errorf("logged: %s\nwant    %s%s", logged, skipped, tt.logged)
			}
		})
	}
}
