package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A retry shows what the first request has shown, also where the summary has come meanwhile
// that the step is to use: it was not there when the step decided.
func TestARetryShowsNoSummaryThatHasComeMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, c, fails := &summaries{}, &chosen{windows: map[string]*core.Window{}}, false
		var w *world
		w = newWorld(t, options{
			choices: c, context: compacting(compaction.Background), compact: (&compactions{}).add,
			model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				answer := short(said)(ctx, r)
				if !fails {
					return answer
				}
				fails = false
				w.putSummary(t, thread.Summary{Text: "of the record", Calls: 1})
				return func(yield func(model.Delta, error) bool) {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded})
				}
			}),
		})
		for n := range 2 {
			w.ask(t, n, 0)
		}
		receipt := w.submit(t, key, "question 2 "+strings.Repeat("x", 4400), mailbox.ModeQueue)
		c.windows[fmt.Sprint(receipt.RunID, " ", 1)] = &core.Window{Summary: 2}
		fails = true
		w.stepTo(t, key, listener)
		all := "question 0|turn 1|question 1|turn 2|question 2"
		if diff := cmp.Diff([]string{all, all}, said.requests[2:]); diff != "" || w.head(t, key).Summary != 0 {
			t.Errorf("under the summary up to %d the model is shown (-want +got):\n%s", w.head(t, key).Summary, diff)
		}
	})
}
