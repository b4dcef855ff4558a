package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// openings collects what a stream says of the beginning of steps.
type openings []string

func (s *openings) sink(e core.Event) error {
	switch e.Type {
	case core.EventRunStart, core.EventStepStart, core.EventInferenceRetry, core.EventTextDelta:
		*s = append(*s, string(e.Type))
	case core.EventContextCompacted, core.EventContextSkipped, core.EventPrefixChanged:
		if e.Position != "" {
			return fmt.Errorf("%s has the position %s", e.Type, e.Position)
		}
		*s = append(*s, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Reason))+fmt.Sprint(" ", e.UpTo, " ", e.TokensBefore, " ", e.TokensAfter))
	}
	return nil
}

// askTo is ask with a sink. Its stream begins anew.
func (w *world) askTo(t *testing.T, n int, s *openings) {
	t.Helper()
	*s = nil
	w.submit(t, key, fmt.Sprint("question ", n, " ", strings.Repeat("x", 4400)), mailbox.ModeQueue)
	w.finish(t, key, s.sink)
}

// The step that begins with a summary says so, and what it saves, once, behind its start.
func TestASummaryThatComesInForceIsTold(t *testing.T) {
	const prefix = "prefix_changed summary 0 0 0"
	tests := []struct {
		how  agent.Compaction
		want [][]string // of each question
	}{
		{compaction.Background, [][]string{
			nil, nil, nil,
			{"context_compacted 2 1119 22", prefix}, // a question and a turn
			{"context_compacted 4 1141 22", prefix}, // and the summary before
		}},
		{agent.CompactInline, [][]string{
			nil, nil,
			{"context_compacted 2 1119 22", prefix},
			{"context_compacted 4 1141 22", prefix},
			{"context_compacted 6 1141 22", prefix},
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.how), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints, stream := &summaries{}, &compactions{}, &openings{}
				failed := false
				w := newWorld(t, options{context: compacting(tt.how), compact: hints.add, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
					if s := r.Messages[0]; !failed && s.ID == "summary.4" { // a call that is made again tells nothing again
						failed = true
						return func(yield func(model.Delta, error) bool) {
							yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded})
						}
					}
					return short(said)(ctx, r)
				})})
				for n, want := range tt.want {
					w.askTo(t, n, stream)
					hints.follow(t, w.stepper)
					want = append(append([]string{"run_start", "step_start"}, want...), "text_delta")
					if slices.Contains(*stream, "inference_retry") {
						want = slices.Insert(want, len(want)-1, "inference_retry")
					}
					if diff := cmp.Diff(want, []string(*stream)); diff != "" {
						t.Errorf("question %d (-want +got):\n%s", n, diff)
					}
				}
				if !failed {
					t.Error("no call was made again")
				}
			})
		})
	}
}

// The step that finds no summary, or none that it can use, says why, once.
func TestASummaryThatIsNotUsedIsTold(t *testing.T) {
	put := func(t *testing.T, w *world, s thread.Summary) {
		t.Helper()
		payload, err := thread.Records{}.EncodeSummary(2, &s)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		how  agent.Compaction
		say  func(int) ([]model.Delta, error)
		put  func(*testing.T, *world)
		told int // in which question
		want string
	}{
		{name: "saves nothing", how: compaction.Background, told: 3, want: "context_skipped savings 2 0 0",
			say: func(int) ([]model.Delta, error) { return text(strings.Repeat("y", 4400)), nil }},
		{name: "another came first", how: compaction.Background, told: 3, want: "context_skipped stale 2 0 0",
			put: func(t *testing.T, w *world) { put(t, w, thread.Summary{Predecessor: 1, Text: "of another past"}) }},
		{name: "another thread's", how: compaction.Background, told: 3, want: "context_skipped corrupt 2 0 0",
			put: func(t *testing.T, w *world) { put(t, w, thread.Summary{Incarnation: 1, Text: "of another past"}) }},
		{name: "damaged", how: compaction.Background, told: 3, want: "context_skipped corrupt 2 0 0",
			put: func(t *testing.T, w *world) {
				put(t, w, thread.Summary{Text: "fine"})
				w.spoil(t, recordname.Summary(2))
			}},
		{name: "refused within the step", how: agent.CompactInline, told: 2, want: "context_skipped refused 2 0 0",
			say: func(int) ([]model.Delta, error) { return text(" "), nil }},
		{name: "a model that fails for now within the step", how: agent.CompactInline, told: 2, want: "context_skipped model 2 0 0",
			say: func(int) ([]model.Delta, error) { return nil, &model.Error{Kind: model.KindOverloaded} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints, stream := &summaries{say: tt.say}, &compactions{}, &openings{}
				w := newWorld(t, options{model: short(said), context: compacting(tt.how), compact: hints.add})
				for n := range 5 {
					w.askTo(t, n, stream)
					if n == 2 && tt.put != nil {
						tt.put(t, w)
					}
					hints.follow(t, w.stepper)
					want := []string{"run_start", "step_start", "text_delta"}
					if n == tt.told {
						want = slices.Insert(want, 2, tt.want)
					}
					if diff := cmp.Diff(want, []string(*stream)); diff != "" {
						t.Errorf("question %d (-want +got):\n%s", n, diff)
					}
				}
			})
		})
	}
}
