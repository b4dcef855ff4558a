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
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// Inline the step that needs a summary has it in its own request, and a step that is
// taken again does not ask for it again.
func TestAnInlineSummaryIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &summaries{}
		failing := 0
		w := newWorld(t, options{context: compacting(agent.CompactInline), model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if said.made == 1 && failing == 0 && r.Messages[0].ID != "summary" {
				failing++
				return func(yield func(model.Delta, error) bool) {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded})
				}
			}
			return short(said)(ctx, r)
		})})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		want := []string{"question 0", "question 0|turn 1|question 1", "<conversation-summary> summary 1 </conversation-summary>|question 1|turn 2|question 2"}
		if diff := cmp.Diff(want, said.requests); diff != "" {
			t.Errorf("what the model was shown (-want +got):\n%s", diff)
		}
		if got := w.window(t); w.head(t, key).Summary != 2 || got.Summary != 2 || got.Compact != 0 || said.made != 1 || failing != 1 {
			t.Errorf("the head's summary is %d, the turn says %+v, %d were made", w.head(t, key).Summary, got, said.made)
		}
	})
}

// What another try has stored counts, also where it says why there is no summary: the
// step that makes one meanwhile goes on without.
func TestAnInlineSummaryGivesWayToOneThatWasSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &summaries{}
		w := newWorld(t, options{model: short(said), context: compacting(agent.CompactInline)})
		said.say = func(int) ([]model.Delta, error) {
			payload, err := thread.Records{}.EncodeSummary(2, &thread.Summary{Skipped: thread.SkippedModel})
			if err != nil {
				return nil, err
			}
			return text("summary"), w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload})
		}
		for n := range 3 {
			w.ask(t, n, 0)
		}
		if got := w.window(t); w.head(t, key).Summary != 0 || got.Summary != 0 || got.Skipped != 2 || said.made != 1 {
			t.Errorf("the head's summary is %d, the turn says %+v, %d were made", w.head(t, key).Summary, got, said.made)
		}
		if last := said.requests[len(said.requests)-1]; last != "question 0|turn 1|question 1|turn 2|question 2" {
			t.Errorf("the model is shown %q", last)
		}
	})
}

// A long run is summarised like a long conversation, and what it was asked stays.
func TestALongRunIsSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		n := 0
		w := newWorld(t, options{context: compacting(compaction.Background), compact: hints.add, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if r.Messages[0].ID == "summary" {
				return said.Stream(ctx, r)
			}
			_ = said.Stream(ctx, r)
			if n++; n == 8 {
				return replies(text("done"))(ctx, model.Request{})
			}
			b, _ := json.Marshal(map[string]string{"text": fmt.Sprint(n, strings.Repeat("b", 2000))})
			return replies(calls("echo", string(b)))(ctx, model.Request{})
		})})
		w.submit(t, key, "the task", mailbox.ModeQueue)
		for w.head(t, key).DueAt != 0 {
			w.step(t, key)
			hints.follow(t, w.stepper)
		}
		last := said.requests[len(said.requests)-1]
		if !strings.HasPrefix(last, "<conversation-summary> summary ") || !strings.Contains(last, "|the task|") || w.head(t, key).Summary == 0 || said.made < 2 {
			t.Errorf("the last request shows %q, behind %d summaries", last, said.made)
		}
	})
}

// A summary that stands for all that a run has come to leaves what it was asked: else its
// model would not know what for.
func TestWhatARunWasAskedStaysBehindASummaryOfAllElse(t *testing.T) {
	frontier, none := compacting(agent.CompactInline), compacting(agent.CompactInline)
	frontier.CompactionMode, none.CompactionRawSuffixMessages = "compact_to_safe_frontier", new(0)
	for name, policy := range map[string]*agent.ContextWindowPolicy{"to the safe frontier": frontier, "no messages raw": none} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", cold ", cold), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said := &summaries{}
					n := 0
					o := options{context: policy, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
						if r.Messages[0].ID == "summary" {
							return said.Stream(ctx, r)
						}
						_ = said.Stream(ctx, r)
						if n++; n == 8 {
							return replies(text("done"))(ctx, model.Request{})
						}
						b, _ := json.Marshal(map[string]string{"text": fmt.Sprint(n, strings.Repeat("b", 2000))})
						return replies(calls("echo", string(b)))(ctx, model.Request{})
					})}
					w := newWorld(t, o)
					w.submit(t, key, "the task", mailbox.ModeQueue)
					for w.head(t, key).DueAt != 0 {
						if cold {
							w.stepper = w.other(t, o)
						}
						w.step(t, key)
					}
					want := []string{
						"the task",
						"the task||1",
						"the task||1||2",
						"<conversation-summary> summary 1 </conversation-summary>|the task",
						"<conversation-summary> summary 1 </conversation-summary>|the task||4",
						"<conversation-summary> summary 1 </conversation-summary>|the task||4||5",
						"<conversation-summary> summary 2 </conversation-summary>|the task",
						"<conversation-summary> summary 2 </conversation-summary>|the task||7",
					}
					var got []string
					for _, shown := range said.requests { // of results their number
						got = append(got, strings.NewReplacer("b", "", `{"text":"`, "").Replace(shown))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("what the model was shown (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A summary that is there and cannot be read is done without: its step goes on, and says
// why.
func TestAnInlineSummaryThatCannotBeReadIsDoneWithout(t *testing.T) {
	put := func(t *testing.T, w *world, by thread.Records) {
		t.Helper()
		payload, err := by.EncodeSummary(2, &thread.Summary{Text: "of another program"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	newer := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}}
	tests := []struct {
		name      string
		before    func(*testing.T, *world) // the step that looks for it
		meanwhile func(*testing.T, *world)
		made      int
		want      string
	}{
		{name: "damaged", want: "context_skipped corrupt 2 0 0", before: func(t *testing.T, w *world) {
			put(t, w, thread.Records{})
			w.spoil(t, recordname.Summary(2))
		}},
		{name: "damaged since", made: 1, want: "context_skipped corrupt 2 0 0", meanwhile: func(t *testing.T, w *world) {
			put(t, w, thread.Records{})
			w.spoil(t, recordname.Summary(2))
		}},
		{name: "a newer program's", want: "context_skipped newer 2 0 0", before: func(t *testing.T, w *world) { put(t, w, newer) }},
		{name: "a newer program's since", made: 1, want: "context_skipped newer 2 0 0", meanwhile: func(t *testing.T, w *world) { put(t, w, newer) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, stream := &summaries{}, &openings{}
				w := newWorld(t, options{context: compacting(agent.CompactInline), model: short(said)})
				said.say = func(int) ([]model.Delta, error) {
					tt.meanwhile(t, w)
					return text("summary"), nil
				}
				for n := range 4 {
					if n == 2 && tt.before != nil {
						tt.before(t, w)
					}
					w.askTo(t, n, stream)
					want := []string{"run_start", "step_start", "text_delta"}
					if n == 2 {
						want = []string{"run_start", "step_start", tt.want, "text_delta"}
					}
					if diff := cmp.Diff(want, []string(*stream)); diff != "" {
						t.Errorf("question %d (-want +got):\n%s", n, diff)
					}
				}
				if got := w.window(t); w.head(t, key).Summary != 0 || got.Summary != 0 || got.Skipped != 2 || said.made != tt.made {
					t.Errorf("the head's summary is %d, the turn says %+v, %d were made", w.head(t, key).Summary, got, said.made)
				}
				if last := said.requests[len(said.requests)-1]; last != "question 0|turn 1|question 1|turn 2|question 2|turn 3|question 3" {
					t.Errorf("the model is shown %q", last)
				}
			})
		})
	}
}

// Where nobody is told that a summary is asked for, the step makes it itself.
func TestASummaryIsMadeInlineWhereNobodyMakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &summaries{}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background)})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		if got := w.window(t); got.Summary != 2 || got.Compact != 0 || said.made != 1 {
			t.Errorf("the turn's record says %+v behind %d summaries, want one up to 2", got, said.made)
		}
	})
}
