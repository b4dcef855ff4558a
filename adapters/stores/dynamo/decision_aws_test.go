//go:build aws

package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
)

// asking lets the calls of a process wait that asks.
type asking struct{ bench *bench }

// ID implements plugin.Plugin.
func (asking) ID() string { return "asking" }

// Register implements plugin.Plugin.
func (a asking) Register(r *plugin.Registrar) error {
	r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
		if !a.bench.asks {
			return plugin.Allow, nil
		}
		return plugin.Suspend(core.TicketRequest{
			Action: "tool:PermissionConfirm", Message: "May the agent use the tool lookup?",
		}), nil
	})
	return nil
}

// decisionCosts are what a call costs that waits for a person.
type decisionCosts struct{ wait, decision, resumed cost }

// What each may cost. The step is a run's first: it reads the queued input and
// writes the run's record twice, since that says that the run waits. The index of
// what waits for a person costs it a unit, and the decision one. What the
// resumed one reads besides the head it reads at once, but for the turn.
var decisionBudgets = struct{ wait, decision, resumed budget }{
	wait:     budget{write: 11, read: 2, rounds: 7},
	decision: budget{write: 4, read: 3, rounds: 5},
	resumed:  budget{write: 5, read: 5, rounds: 8},
}

// askAndDecide meters runs of one call that waits, on a thread that holds so many
// messages. The text that ends each run is not metered here.
func askAndDecide(t testing.TB, history int) decisionCosts {
	t.Helper()
	b := longThread(t, chatter{calls: first(1), text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		b.step(t)
		b.step(t)
	})
	b.asks = true
	b.askOnce(t) // the first step is a cold one
	var waits, decisions, resumed []cost
	for range meteredSteps {
		c := b.askOnce(t)
		waits, decisions, resumed = append(waits, c.wait), append(decisions, c.decision), append(resumed, c.resumed)
	}
	return decisionCosts{mean(waits), mean(decisions), mean(resumed)}
}

func (b *bench) askOnce(t testing.TB) (c decisionCosts) {
	t.Helper()
	receipt := b.submit(t, 1)
	c.wait = b.measure(func() { b.step(t) })
	if b.waiting() {
		t.Fatal("somebody is woken while the call waits")
	}
	me := core.Identity{Tenant: theThread.Tenant}
	run, err := b.ReadRun(t.Context(), me, receipt.RunID)
	if err != nil || len(run.Tickets) != 1 {
		t.Fatalf("the run is %+v, %v; want a ticket", run, err)
	}
	c.decision = b.measure(func() {
		d := mailbox.Deciding{Target: run.Tickets[0].Suspension.ID, Decision: core.Decision{ID: "yes", Action: core.DecisionResume}}
		if _, err := b.Decide(t.Context(), me, receipt.RunID, d); err != nil {
			t.Fatal(err)
		}
	})
	c.resumed = b.measure(func() { b.step(t) })
	b.step(t)
	if b.waiting() {
		t.Fatal("the run goes on after its text")
	}
	return c
}

// TestDecisionBudget holds a call that waits for a person to what it may cost:
// the step that ends with it, with a text of 500 B, the decision, and the step that
// runs it, with a result of 2 KB. Between them nothing is read or written.
func TestDecisionBudget(t *testing.T) {
	var all []decisionCosts
	for _, history := range histories() {
		c := askAndDecide(t, history)
		decisionBudgets.wait.hold(t, fmt.Sprintf("a step that waits at %d messages", history), c.wait)
		decisionBudgets.decision.hold(t, fmt.Sprintf("a decision at %d messages", history), c.decision)
		decisionBudgets.resumed.hold(t, fmt.Sprintf("a resumed step at %d messages", history), c.resumed)
		all = append(all, c)
	}
	for i, pair := range [][2]cost{{all[0].wait, all[1].wait}, {all[0].decision, all[1].decision}, {all[0].resumed, all[1].resumed}} {
		if pair[0].Units != pair[1].Units {
			t.Errorf("part %d costs %+v at %d messages and %+v at %d", i, pair[0], histories()[0], pair[1], histories()[1])
		}
	}
}

// BenchmarkDecisionUnits prints what TestDecisionBudget asserts.
func BenchmarkDecisionUnits(b *testing.B) {
	var c decisionCosts
	for b.Loop() {
		c = askAndDecide(b, histories()[0])
	}
	for _, part := range []struct {
		name string
		cost cost
	}{{"the step that waits", c.wait}, {"the decision", c.decision}, {"the step that goes on", c.resumed}} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() { // measured above
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(part.cost.Write, "WCU/op")
			b.ReportMetric(part.cost.Read, "RRU/op")
			b.ReportMetric(float64(part.cost.Rounds), "rounds/op")
		})
	}
}
