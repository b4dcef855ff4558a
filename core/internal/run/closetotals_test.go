package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// The last record of a run that a tool has ended counts the step of that tool's round as one
// that has failed, as the log before it does.
func TestTheLastRecordOfARunCountsTheRoundThatEndedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("fails", "{}"), calls("fatal", "{}")), tools: []tool.Tool{fails, fatal},
			plugins: []plugin.Plugin{pluginFunc{"ends", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
					return seenBy.Update([]string{"end"}), nil
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		last := w.entry(t, w.head(t, key).Seq)
		if last.Totals == nil || last.Totals.ErrorSteps != 2 || last.Totals.Steps != 2 {
			t.Errorf("the last record has the totals %+v, want two steps, which have failed", last.Totals)
		}
	})
}

// A run whose answer is not of its form ends with that, although somebody has spoken to it
// while it was given.
func TestARunThatIsSpokenToWhileItAnswersWrongly(t *testing.T) {
	tests := []struct{ name, said, end string }{
		{"a right answer", `{"answer":"a"}`, `done 2 {"type":"natural_end"} "{\"answer\":\"b\"}"`},
		{"a wrong answer", `[]`, `done 1 {"type":"error","code":"invalid_output","detail":"property \"answer\": got array, want object"} "[]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				answers := replies(text(tt.said), text(`{"answer":"b"}`))
				m := modelFunc(func(ctx context.Context, r model.Request) iterator {
					if time.Sleep(time.Second); len(r.Messages) == 1 {
						w.submit(t, key, "and then?", mailbox.ModeSteer)
					}
					return answers(ctx, r)
				})
				format := &model.ResponseFormat{Name: "answer", Schema: []byte(`{"type":"object","properties":{"answer":{"type":"string"}}}`)}
				w = newWorld(t, options{agents: spec(t, m, agent.Spec{ResponseFormat: format, MaxRepairs: new(0)})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if head := w.head(t, key); head.Open() {
					w.step(t, key)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
			})
		})
	}
}
