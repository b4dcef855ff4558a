package run_test

import (
	"context"
	"encoding/json"
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
