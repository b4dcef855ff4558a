package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// What RunEnd changes does not fit, and is left out. The effects that it asked for need no
// room: they happen, once.
func TestEffectsOfRunEndOutliveAChangeThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leaving{bytes: 9000}
		w := newWorld(t, options{plugins: []plugin.Plugin{l.plugin()}})
		w.limit(8 << 10)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.form(t, receipt); got != thread.FormStateless || l.ran != 1 || l.effects != 1 {
			t.Errorf("the end is %s, RunEnd ran %d times with %d effects; want stateless, once and one", got, l.ran, l.effects)
		}
		if got := w.piled(t); len(got) != 0 {
			t.Errorf("the state has %d changes, want none", len(got))
		}
	})
}

// A reason of the longest length stands twice in the record of an end that is not whole:
// the last form cuts it.
func TestRunEndsWhoseReasonIsTooLargeBesideItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen closed
		w := newWorld(t, options{
			plugins: []plugin.Plugin{piles(0, &seen)},
			stop: []agent.StopPolicy{agent.StopFunc(func(agent.StopView) *core.Termination {
				return &core.Termination{Type: core.TerminationStopped, Code: "test", Detail: strings.Repeat("x", 4<<10)}
			})},
		})
		w.limit(thread.MinPayload)
		receipt := w.request(t, "hi", 4<<10)
		w.finish(t, key, nil)
		r := w.runRecord(t, receipt.RunID)
		if r.Status != core.RunDone || r.Termination == nil || r.Termination.Code != "test" || w.form(t, receipt) != thread.FormLeast {
			t.Fatalf("the run is %s with %+v in the form %s", r.Status, r.Termination, w.form(t, receipt))
		}
		if got := r.Termination.Detail; len(got) != 1021 || !strings.HasSuffix(got, "x...") || len(seen.saw) != 1 {
			t.Errorf("the reason has %d bytes, RunEnd saw %q; want 1021, and once", len(got), seen.saw)
		}
	})
}

// The process that ends a run knows which tools it has started, and may die before it gives
// their calls results: its first write says so.
func TestCallThatEndedTheRunIsUnknownAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cuts := toolFunc{name: "cuts", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, tool.Fatal(errPassing)
		}}
		w := newWorld(t, options{model: replies(calls("cuts", "{}", "cuts", "{}")), tools: []tool.Tool{cuts}, mode: agent.Sequential})
		w.limit(1 << 20)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crashClosing(t)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]core.ResultStatus{core.ResultUnknown, core.ResultNotExecuted}, w.statuses(t)); diff != "" {
			t.Error(diff)
		}
	})
}
