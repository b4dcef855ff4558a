package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// The runtime asks a run to go on behind an answer where nobody else says anything there: not
// beside input that was steered to it.
func TestTheRuntimeAsksToGoOnWhereNobodyElseSaysAnything(t *testing.T) {
	const asks = `user: [The answer cannot be used: property "answer": got array, want object. Answer again, in the form that was asked for.]`
	tests := []struct {
		name    string
		steered string   // to the run that takes the first one up
		shown   []string // to each run
	}{
		{"nothing", "", []string{"user: hi", "user: hi | assistant: [] | " + asks}},
		{"steered input", "an object, please", []string{"user: hi", "user: hi | assistant: [] | user: an object, please"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				m := modelFunc(func(ctx context.Context, r model.Request) iterator {
					var texts []string
					for _, m := range r.Messages {
						texts = append(texts, string(m.Role)+": "+m.Text())
					}
					shown = append(shown, strings.Join(texts, " | "))
					return replies(text("[]"))(ctx, model.Request{})
				})
				form := &model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}
				w := newWorld(t, options{agents: spec(t, m, agent.Spec{MaxRepairs: new(0), ResponseFormat: form})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if _, err := w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
					t.Fatal(err)
				}
				if tt.steered != "" {
					w.take(t, key)
					w.submit(t, key, tt.steered, mailbox.ModeSteer)
					w.reclaim(t)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.shown, shown); diff != "" {
					t.Errorf("what the model was shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A run whose input was taken back before the step that it had gone on for asks its model
// again, and says nothing of its own: it has not ended.
func TestARunWhoseUnreadInputIsTakenBackSaysNothingOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		said := &summaries{}
		w = newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if said.turns == 0 {
				w.submit(t, key, "never mind", mailbox.ModeSteer)
			}
			return short(said)(ctx, r)
		})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		if err := w.box.Retract(t.Context(), key, w.head(t, key).Inbox[0].ID); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"hi", "hi|turn 1"}, said.requests); diff != "" {
			t.Errorf("what the model was shown (-want +got):\n%s", diff)
		}
		if got, want := w.end(t, key, receipt), `done 2 {"type":"natural_end"} "turn 2"`; got != want {
			t.Errorf("the run is %s, want %s", got, want)
		}
	})
}

// A process that has nothing of a thread but its last answer, behind a summary of all else,
// asks the run to go on as one does that has more.
func TestTheRuntimeAsksToGoOnBehindASummaryOfAllButTheAnswer(t *testing.T) {
	for _, cold := range []bool{false, true} {
		t.Run(fmt.Sprint("cold ", cold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := &summaries{}
				policy := compacting(agent.CompactInline)
				policy.CompactionMode = "compact_to_safe_frontier"
				m := modelFunc(func(ctx context.Context, r model.Request) iterator {
					if r.Messages[0].ID == "summary" {
						return said.Stream(ctx, r)
					}
					if _ = said.Stream(ctx, r); said.turns < 16 {
						return replies(calls("echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("b", 16_000))))(ctx, model.Request{})
					}
					return replies(text("[]"))(ctx, model.Request{})
				})
				form := &model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}
				var saw []string
				o := options{agents: demo(t, m, agent.Spec{MaxRepairs: new(0), ResponseFormat: form, Context: policy}, counters(&saw, inThread))}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if cold {
					w.stepper = w.other(t, o)
				}
				if _, err := w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				want := []string{
					"<conversation-summary> summary 15 </conversation-summary>|hi",
					"<conversation-summary> summary 15 </conversation-summary>|hi|[]|[The answer cannot be used: property \"answer\": got array, wan",
				}
				if diff := cmp.Diff(want, said.requests[15:]); diff != "" {
					t.Errorf("what the model was shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}
