package run_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool that asks to wait for what cannot be waited for has failed. What the hooks
// before it asked for counts, as with any result.
func TestHooksOfACallThatCannotWaitCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acted []string
		act := plugin.Effect[string]{Name: "act"}
		acts := pluginFunc{"acts", func(r *plugin.Registrar) {
			act.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
				acted = append(acted, what)
				return nil
			})
			r.Hook(core.PhaseBeforeToolExecute, func(context.Context, plugin.Context) (state.Command, error) {
				return act.Emit("before"), nil
			})
		}}
		asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{ID: "not a name"}), nil
		}}
		w := newWorld(t, options{model: replies(calls("asks", "{}"), text("ok")), tools: []tool.Tool{asks}, plugins: []plugin.Plugin{acts}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{`error: execution failed: suspension id "not a name" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if !slices.Equal(acted, []string{"before"}) {
			t.Errorf("effects %q, want one", acted)
		}
	})
}
