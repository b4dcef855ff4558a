package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// The last result of a round travels with the commit behind it, unless hooks come before that,
// or it is of 64 KiB and more.
func TestWhichLastResultsAreStoredAlone(t *testing.T) {
	after := pluginFunc{"after", func(r *plugin.Registrar) {
		r.OnAfterTool(func(context.Context, plugin.AfterTool) (state.Command, error) { return state.Command{}, nil })
	}}
	end := pluginFunc{"end", func(r *plugin.Registrar) {
		r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return state.Command{}, nil })
	}}
	tests := []struct {
		name    string
		plugins []plugin.Plugin
		bytes   int // of the record
		puts    int
	}{
		{"no hook", nil, 1000, 0},
		{"a hook behind tools", []plugin.Plugin{after}, 1000, 1},
		{"a hook behind the step", []plugin.Plugin{end}, 1000, 1},
		{"just small enough", nil, 64<<10 - 1, 0},
		{"just too large", nil, 64 << 10, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				length := tt.bytes - 500 // about, so that the lengths in the record take as many bytes
				w := newWorld(t, options{
					model: inOrder(calls("says", "{}"), text("ok"), calls("says", "{}"), text("ok")), plugins: tt.plugins,
					tools: []tool.Tool{toolFunc{name: "says", run: func(context.Context, tool.Call) (tool.Result, error) {
						return tool.NewResult(strings.Repeat("x", length)), nil
					}}},
				})
				puts := 0
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					puts++
					return w.store.Backend.Put(ctx, key, r)
				}
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				length = tt.bytes - (len(w.record(t, store.LogName(3)).Payload) - length)
				puts = 0
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if size := len(w.record(t, store.LogName(7)).Payload); size != tt.bytes || puts != tt.puts {
					t.Errorf("%d puts for a result of %d bytes, want %d for %d", puts, size, tt.puts, tt.bytes)
				}
			})
		})
	}
}

// What a tool returns when the step's time is over is stored, and no hook looks at it before
// the next claim does. Nothing but the nack is written behind it.
func TestAResultThatComesWithTheEndOfTheTime(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := newWorld(t, options{
					mode: mode, model: replies(calls("obeys", "{}", "echo", `{"text":"a"}`), text("ok")),
					tools: []tool.Tool{toolFunc{name: "obeys", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
						<-ctx.Done()
						return tool.NewResult("cut short"), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"hears", func(r *plugin.Registrar) {
						r.OnAfterTool(func(ctx context.Context, c plugin.AfterTool) (state.Command, error) {
							did = append(did, fmt.Sprint("hook ", c.CallIndex, " ", ctx.Err()))
							return state.Command{}, nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					did = append(did, "put "+r.Name)
					return w.store.Backend.Put(ctx, key, r)
				}
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					did = append(did, fmt.Sprint("head ", c.Head.Run.Calls))
					return w.store.Backend.Commit(ctx, key, c)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				if stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, nil); err != nil || !stepped.Retry {
					t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
				}
				w.store.OnPut, w.store.OnCommit = nil, nil
				w.finish(t, key, nil)
				first, second := store.LogName(3), store.LogName(4)
				want := []string{"head [new new]", "put " + first, "head [new new]", "hook 0 <nil>", "hook 1 <nil>"}
				if mode != agent.Sequential {
					want = append([]string{"head [new new]", "put " + second}, want[1:]...)
				}
				if diff := cmp.Diff(want, did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
