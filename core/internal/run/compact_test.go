package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// summaries is a model that talks, and that says "summary n" when it is asked for one.
// Of each request it notes the texts of the messages, beginnings only.
type summaries struct {
	turns, made int
	requests    []string // of turns
	asked       []string // for summaries: the request's text
	options     string   // of the newest of these: the provider's own
	say         func(n int) ([]model.Delta, error)
}

func (s *summaries) Stream(ctx context.Context, r model.Request) iterator {
	if r.Messages[0].ID == "summary" {
		s.made++
		s.asked, s.options = append(s.asked, r.Messages[0].Text()), string(r.ProviderOptions)
		if s.say != nil {
			deltas, err := s.say(s.made)
			if err != nil {
				return func(yield func(model.Delta, error) bool) { yield(model.Delta{}, err) }
			}
			return replies(deltas)(ctx, model.Request{})
		}
		usage := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 300, Output: 20}}
		return replies(append([]model.Delta{usage}, text(fmt.Sprint("summary ", s.made))...))(ctx, model.Request{})
	}
	var shown []string
	for _, m := range r.Messages {
		shown = append(shown, strings.TrimRight(core.Excerpt(strings.ReplaceAll(m.Text(), "\n", " ")), "x. "))
	}
	s.requests = append(s.requests, strings.Join(shown, "|"))
	s.turns++
	if s.turns%3 == 0 {
		return replies(calls("echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("b", 1000))))(ctx, model.Request{})
	}
	return replies(text(fmt.Sprint("turn ", s.turns, " ", strings.Repeat("x", 1000))))(ctx, model.Request{})
}

// compacting is an agent's policy with a threshold of 3,000 tokens, two messages raw.
func compacting(how agent.Compaction) *agent.ContextWindowPolicy {
	return &agent.ContextWindowPolicy{AutocompactThreshold: 3000, Compaction: how}
}

// compactions are hints for summaries that nobody has followed yet.
type compactions struct{ hints int }

func (c *compactions) add(context.Context, core.ThreadKey) { c.hints++ }

// follow makes the summaries that were asked for.
func (c *compactions) follow(t *testing.T, s *run.Stepper) {
	t.Helper()
	for ; c.hints > 0; c.hints-- {
		if err := s.Summaries().Compact(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
}

// What a model is asked and what is stored are the same, whether a process has
// remembered the thread and its summaries or reads them.
func TestColdStepUnderASummaryDoesWhatAWarmOneDoes(t *testing.T) {
	for _, how := range []agent.Compaction{compaction.Background, agent.CompactInline} {
		t.Run(string(how), func(t *testing.T) {
			play := func(t *testing.T, cold bool) (outcome []string, made int) {
				synctest.Test(t, func(t *testing.T) {
					said, hints := &summaries{}, &compactions{}
					o := options{model: said, env: seeded(), window: 6000, context: compacting(how), compact: hints.add}
					w := newWorld(t, o)
					for i := range 60 {
						w.submit(t, key, fmt.Sprint("question ", i, " ", strings.Repeat("x", 400)), mailbox.ModeQueue)
						for w.head(t, key).DueAt != 0 {
							if cold {
								w.stepper = w.other(t, o)
							}
							w.step(t, key)
							if i%3 == 1 {
								hints.follow(t, w.stepper)
							}
						}
					}
					head := w.head(t, key)
					for seq := uint64(1); seq <= head.Seq; seq++ {
						outcome = append(outcome, string(w.record(t, store.LogName(seq)).Payload))
					}
					for upTo := head.Summary; upTo > 0; made++ {
						outcome = append(outcome, string(w.record(t, recordname.Summary(upTo)).Payload))
						upTo = w.summary(t, upTo).Predecessor
					}
					outcome = append(append(outcome, said.requests...), said.asked...)
				})
				return outcome, made
			}
			warm, made := play(t, false)
			cold, _ := play(t, true)
			if diff := cmp.Diff(warm, cold); diff != "" {
				t.Errorf("requests and records (-warm +cold):\n%s", diff)
			}
			if made < 5 {
				t.Errorf("only %d summaries were in force", made)
			}
		})
	}
}

// summary reads a stored summary.
func (w *world) summary(t *testing.T, upTo uint64) thread.Summary {
	t.Helper()
	s, err := thread.Records{}.DecodeSummary(upTo, w.record(t, recordname.Summary(upTo)).Payload)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// window is what the record of the newest turn says that its model was shown.
func (w *world) window(t *testing.T) core.Window {
	t.Helper()
	for seq := w.head(t, key).Seq; seq > 0; seq-- {
		e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			if e.Window == nil {
				return core.Window{}
			}
			return *e.Window
		}
	}
	return core.Window{}
}

// ask submits a question of 1,100 tokens and lets the run come to its end.
func (w *world) ask(t *testing.T, n int, from uint64) {
	t.Helper()
	_, err := w.box.Submit(t.Context(), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage(fmt.Sprint("question ", n, " ", strings.Repeat("x", 4400)))},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.finish(t, key, nil)
}

// short is a model whose turns are a word, and whose summaries are "summary n".
func short(s *summaries) modelFunc {
	return func(ctx context.Context, r model.Request) iterator {
		if r.Messages[0].ID == "summary" {
			return s.Stream(ctx, r)
		}
		_ = s.Stream(ctx, r)
		return replies(text(fmt.Sprint("turn ", s.turns)))(ctx, model.Request{})
	}
}

// The way of a summary: a step asks for it, the compactor makes it, the next step uses
// it, and the head names it. The one behind it is made from it.
func TestASummaryIsAskedForMadeAndUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		if got := w.window(t); got.Compact != 2 || hints.hints != 1 { // question 0 and its turn
			t.Fatalf("the turn's record says %+v, %d hints; want a summary up to 2 to be asked for once", got, hints.hints)
		}
		hints.follow(t, w.stepper)
		if got := w.head(t, key).Summary; got != 0 {
			t.Fatalf("the summary up to %d is in force before a commit", got)
		}
		if diff := cmp.Diff(thread.Summary{Incarnation: w.head(t, key).Incarnation, Text: "summary 1", Model: "scripted", Usage: core.Usage{Input: 300, Output: 20}, Calls: 1}, w.summary(t, 2)); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
		w.ask(t, 3, 0)
		head := w.head(t, key)
		if got := w.window(t); head.Summary != 2 || got.Summary != 2 || got.Compact != 4 {
			t.Fatalf("the head's summary is %d, the turn says %+v; want 2, and 4 asked for", head.Summary, got)
		}
		hints.follow(t, w.stepper)
		w.ask(t, 4, 0)
		want := []string{
			"question 0",
			"question 0|turn 1|question 1",
			"question 0|turn 1|question 1|turn 2|question 2",
			"<conversation-summary> summary 1 </conversation-summary>|question 1|turn 2|question 2|turn 3|question 3",
			"<conversation-summary> summary 2 </conversation-summary>|question 2|turn 3|question 3|turn 4|question 4",
		}
		if diff := cmp.Diff(want, said.requests); diff != "" {
			t.Errorf("what the model was shown (-want +got):\n%s", diff)
		}
		if s := w.summary(t, 4); s.Predecessor != 2 || s.Text != "summary 2" {
			t.Errorf("the second summary is %+v, want one behind that up to 2", s)
		}
		if !strings.Contains(said.asked[1], "summary 1\n") || strings.Contains(said.asked[1], "question 0") ||
			!strings.Contains(said.asked[1], "[User]: question 1 ") || !strings.Contains(said.asked[1], "[Assistant]: turn 2") || strings.Contains(said.asked[1], "question 2") {
			t.Errorf("the second summary was made of %q", said.asked[1])
		}
	})
}

// What a run takes back takes the summaries of it along: the newest one that ends
// before it is in force again, and a target that a turn of it named is void.
func TestASupersededSummaryGivesWayToItsPredecessor(t *testing.T) {
	for _, warm := range []bool{true, false} {
		t.Run(fmt.Sprint("warm ", warm), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{}, &compactions{}
				o := options{model: short(said), context: compacting(compaction.Background), compact: hints.add}
				w := newWorld(t, o)
				for n := range 5 { // summaries up to 2 and 4, and one up to 6 is made
					w.ask(t, n, 0)
					hints.follow(t, w.stepper)
				}
				if got := w.head(t, key).Summary; got != 4 || said.made != 3 {
					t.Fatalf("the summary is %d and %d were made, want 4 and 3", got, said.made)
				}
				if !warm {
					w.stepper = w.other(t, o)
				}
				w.ask(t, 5, 3) // the input of question 1 is at 3
				if got := w.head(t, key).Summary; got != 2 {
					t.Errorf("behind the edit at 3 the summary is %d, want 2", got)
				}
				w.ask(t, 6, 1)
				if got := w.head(t, key).Summary; got != 0 {
					t.Errorf("behind the edit at 1 the summary is %d, want none", got)
				}
				w.ask(t, 7, 0)
				want := []string{
					"<conversation-summary> summary 1 </conversation-summary>|question 5",
					"question 6",
					"question 6|turn 7|question 7",
				}
				if diff := cmp.Diff(want, said.requests[5:]); diff != "" {
					t.Errorf("what the model was shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A target that a superseded turn named is asked about by nobody any more, not even by
// the turn that supersedes.
func TestATargetOfASupersededTurnIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		o := options{model: short(said), context: compacting(compaction.Background), compact: hints.add}
		w := newWorld(t, o)
		w.ask(t, 0, 0)
		w.ask(t, 1, 0)
		w.ask(t, 2, 0) // names 2
		hints.follow(t, w.stepper)
		w.ask(t, 3, 5) // takes question 2 back, and the target with it
		if got := w.head(t, key).Summary; got != 0 {
			t.Errorf("the summary up to %d is in force", got)
		}
		// It is over the threshold as well, and names the same turn. There is a summary of
		// it already, which covers nothing that was taken back.
		if got := w.window(t); got.Compact != 2 || hints.hints != 1 {
			t.Errorf("the turn's record says %+v, %d hints; want 2 to be asked for again", got, hints.hints)
		}
		hints.follow(t, w.stepper)
		w.ask(t, 4, 0)
		if got := w.head(t, key).Summary; got != 2 || said.made != 1 {
			t.Errorf("the summary is %d, %d were made; want 2 and one", got, said.made)
		}
	})
}

// Why there is no summary stands in its record, and nobody tries again for a while.
func TestASummaryThatComesToNothing(t *testing.T) {
	tests := []struct {
		name string
		say  func(int) ([]model.Delta, error)
		want string
	}{
		{"too large", func(int) ([]model.Delta, error) { return text(strings.Repeat("y", 3200)), nil }, "savings"},
		{"cut off", func(int) ([]model.Delta, error) {
			return []model.Delta{{Type: model.DeltaText, Text: "half a"}, {Type: model.DeltaStop, Stop: core.StopMaxTokens}}, nil
		}, "too_long"},
		{"nothing said", func(int) ([]model.Delta, error) { return text(" \n"), nil }, "refused"},
		{"filtered", func(int) ([]model.Delta, error) {
			return []model.Delta{{Type: model.DeltaText, Text: "no"}, {Type: model.DeltaStop, Stop: core.StopContentFilter}}, nil
		}, "refused"},
		{"a model that fails for good", func(int) ([]model.Delta, error) { return nil, &model.Error{Kind: model.KindUnauthorized} }, "model"},
	}
	for _, how := range []agent.Compaction{compaction.Background, agent.CompactInline} {
		for _, tt := range tests {
			t.Run(string(how)+" "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said, hints := &summaries{say: tt.say}, &compactions{}
					w := newWorld(t, options{model: short(said), context: compacting(how), compact: hints.add})
					for n := range 18 {
						w.ask(t, n, 0)
						hints.follow(t, w.stepper)
					}
					if got := w.summary(t, 2); got.Skipped != tt.want || got.Text != "" || w.head(t, key).Summary != 0 {
						t.Errorf("the summary is %.200v, want it skipped: %s", got, tt.want)
					}
					if got := w.window(t); said.made != 1 || got.Skipped != 2 || got.Compact != 0 {
						t.Errorf("%d were made, the turn's record says %+v; want one, and no other so soon", said.made, got)
					}
					w.ask(t, 18, 0) // the turn at 34 is closed, and two messages follow
					hints.follow(t, w.stepper)
					if said.made != 2 {
						t.Errorf("%d were made, want another one behind 32 records", said.made)
					}
				})
			})
		}
	}
}

// A model that fails for now is asked again, as often as in a step, and then there is no
// summary, nor a record that says so.
func TestASummaryOfAModelThatFailsForNow(t *testing.T) {
	for _, fails := range []int{2, 3} {
		t.Run(fmt.Sprint(fails, " times"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{}, &compactions{}
				said.say = func(n int) ([]model.Delta, error) {
					if n <= fails {
						return nil, &model.Error{Kind: model.KindOverloaded}
					}
					return text("at last"), nil
				}
				w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add})
				for n := range 3 {
					w.ask(t, n, 0)
				}
				hints.follow(t, w.stepper)
				_, ok, err := w.store.Get(t.Context(), key, recordname.Summary(2))
				if err != nil || ok != (fails == 2) || said.made != 3 {
					t.Errorf("there is a summary: %v, %v, behind %d calls", ok, err, said.made)
				}
			})
		})
	}
}

// A model that has failed too often in this process is not asked for summaries either,
// and what it is asked for them counts like a step's calls.
func TestAnOpenCircuitRefusesSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		down := true
		said.say = func(int) ([]model.Delta, error) {
			if down {
				return nil, &model.Error{Kind: model.KindProvider}
			}
			return text("at last"), nil
		}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		for i, want := range []int{3, 5, 5} {
			hints.hints = 1
			if hints.follow(t, w.stepper); said.made != want {
				t.Errorf("after %d hints the model was asked %d times, want %d", i+1, said.made, want)
			}
		}
		down = false
		began := time.Now()
		w.ask(t, 3, 0) // it waits, probes, and closes the circuit
		if waited := time.Since(began); waited < 20*time.Second {
			t.Errorf("the step has waited %s for the circuit that summaries have opened", waited)
		}
		hints.hints = 1
		hints.follow(t, w.stepper)
		if _, ok, err := w.store.Get(t.Context(), key, recordname.Summary(2)); !ok || err != nil || said.made != 6 {
			t.Errorf("there is a summary: %v, %v, behind %d calls", ok, err, said.made)
		}
	})
}

// The summary of a pool's thread is made by its home, or, where that one's circuit is
// open, by the next member.
func TestASummaryIsMadeByAMemberThatCanBeAsked(t *testing.T) {
	for _, stays := range []bool{false, true} {
		t.Run(fmt.Sprintf("stays %t", stays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home, other, hints := &summaries{}, &summaries{}, &compactions{}
				home.say = func(int) ([]model.Delta, error) { return nil, &model.Error{Kind: model.KindProvider} }
				pool := agent.ModelPoolSpec{ID: "pool", Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{{Model: "a"}, {Model: "b"}}}
				if stays {
					pool.Switch.OnCircuitOpen = new(false)
				}
				agents, err := registry.New(agent.Parts{
					Models: map[string]agent.ModelBinding{"a": {Model: short(home), Name: "first", Provider: "p"}, "b": {Model: short(other), Name: "second", Provider: "q"}},
					Pools:  []agent.ModelPoolSpec{pool},
					Specs: []agent.Spec{{
						ID: "demo", Model: "pool", Context: compacting(compaction.Background),
						ProviderOptions: map[string]json.RawMessage{"p": json.RawMessage(`{"guard":1}`), "q": json.RawMessage(`{"guard":2}`)},
					}},
				})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, options{agents: agents, compact: hints.add})
				for n := range 3 {
					w.ask(t, n, 0)
				}
				for range 3 { // the second opens the circuit
					hints.hints = 1
					hints.follow(t, w.stepper)
				}
				_, ok, err := w.store.Get(t.Context(), key, recordname.Summary(2))
				if err != nil || ok == stays || home.made != 5 {
					t.Fatalf("there is a summary: %v, %v, behind %d calls of the home", ok, err, home.made)
				}
				if home.options != `{"guard":1}` {
					t.Errorf("the home was asked with the options %s", home.options)
				}
				if !stays && (w.summary(t, 2).Model != "second" || other.options != `{"guard":2}`) {
					t.Errorf("the summary is %+v, asked for with the options %s", w.summary(t, 2), other.options)
				}
			})
		})
	}
}

// Hints may be late, doubled or forged: only what the newest turn asks for is made.
func TestAHintForNoSummaryMakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add})
		compact := func() {
			t.Helper()
			if err := w.stepper.Summaries().Compact(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		compact() // of no thread
		w.ask(t, 0, 0)
		w.ask(t, 1, 0)
		compact()
		w.ask(t, 2, 0)
		compact()
		compact()
		if said.made != 1 {
			t.Errorf("%d summaries were made, want one", said.made)
		}
		w.ask(t, 3, 0) // asks again
		if err := w.box.Delete(t.Context(), key, ""); err != nil {
			t.Fatal(err)
		}
		compact()
		if said.made != 1 {
			t.Errorf("a summary was made of a thread that is deleted")
		}
	})
}
