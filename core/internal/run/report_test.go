package run_test

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// reports logs the lines of level INFO, without their ids and times.
func reports(log *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, slog.LevelKey, "tenant", "thread", "run":
			return slog.Attr{}
		}
		return a
	}}))
}

func TestEachRunIsReportedOnce(t *testing.T) {
	tests := []struct {
		name    string
		input   string
		options options
		act     func(t *testing.T, w *world)
		want    []string
	}{
		{"a natural end", "echo: a", options{}, nil, []string{
			`msg="run finished" agent=demo steps=2 tokens_in=5 tokens_out=3 duration=0s end=natural_end`,
		}},
		{"a long run", "slow: 20", options{}, nil, []string{
			`msg="run finished" agent=demo steps=1 tokens_in=2 tokens_out=20 duration=2s end=natural_end`,
		}},
		{"a wait, and the end", "echo: a", options{plugins: []plugin.Plugin{once("")}}, func(t *testing.T, w *world) {
			w.mustDecide(t, 0, approve)
			w.finish(t, key, nil)
		}, []string{
			`msg="run waits" agent=demo steps=1 tokens_in=2 tokens_out=1 tickets=1`,
			`msg="run finished" agent=demo steps=2 tokens_in=5 tokens_out=3 duration=0s end=natural_end`,
		}},
		{"cancelled while it waits", "echo: a", options{plugins: []plugin.Plugin{once("")}}, func(t *testing.T, w *world) {
			if _, err := w.box.Cancel(t.Context(), key, core.ID{}); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}, []string{
			`msg="run waits" agent=demo steps=1 tokens_in=2 tokens_out=1 tickets=1`,
			`msg="run finished" agent=demo steps=1 tokens_in=2 tokens_out=1 duration=0s end=cancelled`,
		}},
		{"failed", "hi", options{model: modelFunc(func(context.Context, model.Request) iter.Seq2[model.Delta, error] { panic("boom") })}, nil, []string{
			`msg="run finished" agent=demo steps=0 tokens_in=0 tokens_out=0 duration=0s end=error code=model`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				tt.options.logger = reports(&log)
				w := newWorld(t, tt.options)
				w.submit(t, key, tt.input, mailbox.ModeQueue)
				w.finish(t, key, nil)
				if tt.act != nil {
					tt.act(t, w)
				}
				lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log.String()), "\n"), func(line string) bool {
					return !strings.HasPrefix(line, `msg="run finished"`) && !strings.HasPrefix(line, `msg="run waits"`)
				})
				if diff := cmp.Diff(tt.want, lines); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
