package run_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// Where all decisions are waited for together, a call whose question a person has passed over
// ends at once, although a sibling waits for a child run, which nobody passes over.
func TestACallThatWasPassedOverWaitsForNoSibling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelBatchApproval, model: replies(calls("ask", "{}", "ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}},
			plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
				v := suspends("")
				v.Suspend.Kind, v.Suspend.Mode = []core.TicketKind{core.TicketPerson, core.TicketChild}[c.CallIndex], core.ResumeAsResult
				return v, nil
			})},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.submit(t, key, "never mind", mailbox.ModeSteer)
		var told events
		w.finish(t, key, told.sink)
		const cancelled = `tool_call_done ask {"error":"cancelled: the user went on without deciding"}`
		if got := w.stands(t); got != "waiting [done suspended]" || !slices.Contains(told.lines, cancelled) {
			t.Errorf("the round is %s; told are %q", got, told.lines)
		}
	})
}

// One report that could not be passed on is in the log, too; none is not.
func TestHowManyReportsAreMissedInTheLog(t *testing.T) {
	for _, reports := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				for range reports {
					c.Activity("plan", func() {})
				}
				return tool.NewResult("done"), nil
			}}
			w := newWorld(t, options{
				model: replies(calls("shows", "{}"), text("ok")), tools: []tool.Tool{shows}, logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, func(core.Event) error { return nil })
			if got := strings.Count(log.String(), "reports of a tool dropped"); got != reports || strings.Count(log.String(), " reports=1 ") != reports {
				t.Errorf("%d lines for %d reports:\n%s", got, reports, &log)
			}
		})
	}
}
