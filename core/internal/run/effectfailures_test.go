package run_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// An effect that fails is counted and has its line in the log; what it came with
// stands, and the effects behind it run. One that nobody handles never gets so far: it
// is refused before anything of what it came with is committed.
func TestEffectFailures(t *testing.T) {
	const ended = `done 0 {"type":"error","code":"plugin","detail":"`
	tests := []struct {
		name   string
		point  string // that emits
		emits  []string
		failed int64
		ran    []string
		list   []string // what was committed beside the effects
		log    []string
		end    string
	}{
		{"none", "step_start", []string{"a", "b"}, 0, []string{"a", "b"}, []string{"step_start"},
			[]string{"user: hi", "assistant: [asks {}]", `tool: "ok"`, "assistant: ok"}, `done 2 {"type":"natural_end"} "ok"`},
		{"an error and a panic before one that works", "step_start", []string{"fail", "panic", "c"}, 2, []string{"c"}, []string{"step_start"},
			[]string{"user: hi", "assistant: [asks {}]", `tool: "ok"`, "assistant: ok"}, `done 2 {"type":"natural_end"} "ok"`},
		{"of a tool", "tool", []string{"fail", "b"}, 1, []string{"b"}, []string{"tool"},
			[]string{"user: hi", "assistant: [asks {}]", `tool: "ok"`, "state", "assistant: ok"}, `done 2 {"type":"natural_end"} "ok"`},
		{"of the run's end", "run_end", []string{"fail"}, 1, nil, []string{"run_end"},
			[]string{"user: hi", "assistant: [asks {}]", `tool: "ok"`, "assistant: ok", "state"}, `done 2 {"type":"natural_end"} "ok"`},
		{"a hook's that nobody handles", "step_start", []string{"a", "unknown"}, 0, nil, nil,
			[]string{"user: hi"}, ended + `phase step_start: plugin \"acts\" failed"} ""`},
		{"a tool's that nobody handles", "tool", []string{"a", "unknown"}, 0, nil, nil,
			[]string{"user: hi", "assistant: [asks {}]", `tool: execution failed: no handler for effect "nobody"`, "assistant: ok"}, `done 2 {"type":"natural_end"} "ok"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				acts := plugin.Effect[string]{Name: "act"}
				list := state.List[string]("list", state.ScopeThread)
				emitted := false
				emit := func(point string) (c state.Command) {
					if point != tt.point || emitted {
						return c
					}
					emitted = true
					for _, what := range tt.emits {
						if what == "unknown" {
							c.Append(plugin.Effect[string]{Name: "nobody"}.Emit(what))
						} else {
							c.Append(acts.Emit(what))
						}
					}
					return state.Combine(list.Update(point), c)
				}
				var ran, last []string
				asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
					result := tool.NewResult("ok")
					result.Command = emit("tool")
					return result, nil
				}}
				var log bytes.Buffer
				w := newWorld(t, options{
					model: replies(calls("asks", "{}"), text("ok")), tools: []tool.Tool{asks}, logger: slog.New(slog.NewTextHandler(&log, nil)),
					plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
						r.Key(list)
						r.OnStepStart(func(context.Context, plugin.StepStart) (state.Command, error) { return emit("step_start"), nil })
						r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) { return emit("run_end"), nil })
						acts.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
							switch what {
							case "fail":
								return errors.New("no stamp")
							case "panic":
								panic("oh")
							}
							ran = append(ran, what)
							return nil
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				stored, err := w.stepper.Reader().State(t.Context(), key, w.head(t, key), w.head(t, key).Seq)
				if err != nil {
					t.Fatal(err)
				}
				if last, err = list.Read(stored); err != nil {
					t.Fatal(err)
				}
				if got := w.stepper.EffectFailures(); got != tt.failed {
					t.Errorf("%d failed effects are counted, want %d", got, tt.failed)
				}
				if n := strings.Count(log.String(), `level=ERROR msg="effect failed, its commit remains"`); n != int(tt.failed) {
					t.Errorf("%d lines of failed effects, want %d:\n%s", n, tt.failed, &log)
				}
				if diff := cmp.Diff(tt.ran, ran); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.list, last); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}
