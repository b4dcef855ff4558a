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
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Effects of a call are shown when its result was made, those of a hook when it was asked.
func TestClockOfEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shown
		tell := plugin.Effect[string]{Name: "tell"}
		works := toolFunc{name: "works", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(time.Duration(c.Index+1) * time.Second)
			result := tool.NewResult("done")
			result.Command = tell.Emit(fmt.Sprint("call ", c.Index))
			return result, nil
		}}
		w := newWorld(t, options{
			model: replies(calls("works", "{}", "works", "{}"), text("ok")), tools: []tool.Tool{works},
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				tell.Handle(r, func(_ context.Context, c plugin.HandlerContext, what string) error {
					s.note("%s %s", what, seconds(c.Now))
					return nil
				})
				r.Hook(core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) {
					return tell.Emit(fmt.Sprint("step ", c.Step)), nil
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"call 0 1s", "call 1 3s", "step 1 3s", "step 2 3s"}, s.taken()); diff != "" {
			t.Errorf("effects (-want +got):\n%s", diff)
		}
	})
}

// What a step finds damaged when it takes the log back is logged under its number.
func TestADamagedStateIsLoggedUnderItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var saw []string
		w := newWorld(t, options{logger: warnings(&log), plugins: []plugin.Plugin{counters(&saw, inThread)}})
		for range 2 {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		w.spoil(t, recordname.Snapshot)
		receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 4}, Messages: []core.Message{core.UserMessage("other")},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		const want = `level=WARN msg="state snapshot unusable, reading the log" tenant=t thread=t1 run=RUN step=1 error="decode state snapshot: it does not begin with its schema number"`
		if got := strings.TrimSpace(strings.ReplaceAll(log.String(), receipt.RunID.String(), "RUN")); got != want {
			t.Errorf("the log says %s\nwant %s", got, want)
		}
	})
}
