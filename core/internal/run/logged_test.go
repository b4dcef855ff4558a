package run_test

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// TestThePlaceOfAPanicIsLogged: whoever looks for the defect needs its text and
// its stack, of which clients see nothing.
func TestThePlaceOfAPanicIsLogged(t *testing.T) {
	at := func(phase core.Phase) options {
		return options{plugins: []plugin.Plugin{hooks(phase, func(context.Context, plugin.Context) (state.Command, error) { panic("boom") })}}
	}
	tests := []struct {
		name    string
		options options
		want    string
	}{
		{"of a model", options{model: modelFunc(func(context.Context, model.Request) iter.Seq2[model.Delta, error] { panic("boom") })}, `msg="run ends with an error"`},
		{"of a hook", at(core.PhaseStepEnd), `msg="run ends with an error"`},
		{"of a hook at the end", at(core.PhaseRunEnd), `msg="RunEnd failed, the run ends anyway"`},
		{"of a tool", options{
			model: replies(calls("panics", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "panics", run: func(context.Context, tool.Call) (tool.Result, error) { panic("boom") }}},
		}, `msg="tool call failed"`},
		{"of an effect", options{plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
			act := plugin.Effect[string]{Name: "act"}
			act.Handle(r, func(context.Context, plugin.HandlerContext, string) error { panic("boom") })
			r.Hook(core.PhaseRunStart, func(context.Context, plugin.Context) (state.Command, error) { return act.Emit("x"), nil })
		}}}}, `msg="effect failed, its commit remains"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				tt.options.logger = slog.New(slog.NewTextHandler(&log, nil))
				w := newWorld(t, tt.options)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				line := ""
				for l := range strings.Lines(log.String()) {
					if strings.Contains(l, tt.want) {
						line = l
					}
				}
				for _, want := range []string{tt.want, "panic: boom", "logged_test.go"} {
					if !strings.Contains(line, want) {
						t.Errorf("the log says %s\nwant %q in it", line, want)
					}
				}
			})
		})
	}
}

// TestEachRetryOfAModelIsLogged with its reason and how long it waits.
func TestEachRetryOfAModelIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		called := 0
		w := newWorld(t, options{
			logger: slog.New(slog.NewTextHandler(&log, nil)),
			model:  failing(2, &model.Error{Kind: model.KindOverloaded, Message: "try later"}, &called),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		for _, want := range []string{"failed=1 ", "failed=2 "} {
			found := false
			for line := range strings.Lines(log.String()) {
				found = found || strings.Contains(line, `level=WARN msg="model call failed, will be retried"`) &&
					strings.Contains(line, "kind=overloaded wait=") && strings.Contains(line, want) && strings.Contains(line, `error="try later"`)
			}
			if !found {
				t.Errorf("the log says\n%s\nwant a line of a retry with %s", log.String(), want)
			}
		}
	})
}

// TestARefusedSuspensionIsLogged: what the tool asks for is its author's mistake.
func TestARefusedSuspensionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		again := toolFunc{name: "again", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{ID: "same"}), nil
		}}
		w := newWorld(t, options{
			logger: slog.New(slog.NewTextHandler(&log, nil)), model: replies(calls("again", "{}"), text("ok")), tools: []tool.Tool{again},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.mustDecide(t, 0, core.Decision{Action: core.DecisionResume})
		w.finish(t, key, nil)
		for _, want := range []string{`level=WARN msg="tool call failed"`, "tool=again", `error="the call waits for \"same\" again, which was decided"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log says %s\nwant %q in it", log.String(), want)
			}
		}
	})
}

// TestADeadLetterIsLogged: no step fails there, its claims are lost.
func TestADeadLetterIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		w := newWorld(t, options{logger: slog.New(slog.NewTextHandler(&log, nil))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 5 {
			w.take(t, key)
			w.reclaim(t)
		}
		w.finish(t, key, nil)
		const want = `level=WARN msg="run ends with an error"`
		if n := strings.Count(log.String(), want); n != 1 || !strings.Contains(log.String(), "code=dead_letter") {
			t.Errorf("the log says %s\nwant one line %s with its code", log.String(), want)
		}
	})
}

// A scheduled action that fails ends nothing and changes nothing, so the log alone can
// say that it did: once for each, by the commit that keeps it.
func TestAFailedActionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		asks := pluginFunc{"asks", func(r *plugin.Registrar) {
			r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) {
				wrong := plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "t", Target: "systm"})
				return state.Combine(wrong, plugin.AddContextMessage.Schedule(plugin.ContextMessage{Text: "t"})), nil
			})
		}}
		w := newWorld(t, options{
			logger: slog.New(slog.NewTextHandler(&log, nil)), plugins: []plugin.Plugin{asks},
			model: replies(calls("echo", `{"text":"a"}`), text("ok")),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		var got []string
		for line := range strings.Lines(log.String()) {
			if _, failed, found := strings.Cut(line, `msg="scheduled action failed" `); found {
				_, failed, _ = strings.Cut(failed, "action=")
				got = append(got, strings.TrimSpace(failed))
			}
		}
		wrong := `reveille.add_context_message phase=before_inference error="context message \"k\" has the target \"systm\", allowed are [\"system\" \"session\" \"conversation\" \"suffix_system\"]"`
		missing := `reveille.add_context_message phase=before_inference error="the context message has no key"`
		if diff := cmp.Diff([]string{wrong, missing, wrong, missing}, got); diff != "" {
			t.Errorf("failed actions in the log (-want +got):\n%s", diff)
		}
	})
}
