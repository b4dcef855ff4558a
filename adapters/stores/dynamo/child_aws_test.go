//go:build aws

package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// delegated starts a child run and waits for it; its end is the call's result.
func delegated(ctx context.Context, call tool.Call) (tool.Result, error) {
	run, err := call.Start(ctx, tool.Child{Agent: "helper", Messages: []core.Message{core.UserMessage(noise(500))}})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.AwaitChild(run, core.ResumeAsResult), nil
}

// childCosts are what a call costs that starts a child run.
type childCosts struct{ start, end, resumed cost }

// What each may cost. The first step of the parent writes a head more than one that waits for a
// person, which lists the child, and the input of the child, with its pointers and lists. A run of
// one text that has a parent reads and writes the parent's head, with the decision, and its own
// head once more.
var childBudgets = struct{ start, end, resumed budget }{
	start:   budget{write: 16, read: 5, rounds: 13},
	end:     budget{write: 12, read: 8, rounds: 14},
	resumed: budget{write: 3, read: 5, rounds: 8},
}

// delegateOften meters runs of one call that starts a child run, on a thread that holds so many
// messages. The text that ends each run is not metered here.
func delegateOften(t testing.TB, history int) childCosts {
	t.Helper()
	b := longThread(t, chatter{calls: first(1), text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		b.step(t)
		b.step(t)
	})
	b.starts = true
	var all [3][]cost
	for i := range meteredSteps + 1 {
		b.submit(t, 1)
		for part := range all {
			c := b.measure(func() { b.step(t) }) // of the parent, the child and the parent
			if i > 0 {                           // the first step is a cold one
				all[part] = append(all[part], c)
			}
		}
		b.step(t)
		if b.waiting() {
			t.Fatal("the run continues after its text")
		}
	}
	return childCosts{mean(all[0]), mean(all[1]), mean(all[2])}
}

// TestChildBudget checks what a call that starts a child run may cost: the step that starts it and
// waits, the run of the child with the notice to its parent, and the step that continues. Between
// these nothing reads or writes.
func TestChildBudget(t *testing.T) {
	var all []childCosts
	for _, history := range histories() {
		c := delegateOften(t, history)
		at := fmt.Sprintf("at %d messages", history)
		childBudgets.start.hold(t, "a step that starts a child "+at, c.start)
		childBudgets.end.hold(t, "a child run "+at, c.end)
		childBudgets.resumed.hold(t, "a step that continues with a child's end "+at, c.resumed)
		all = append(all, c)
	}
	for i, pair := range [][2]cost{{all[0].start, all[1].start}, {all[0].end, all[1].end}, {all[0].resumed, all[1].resumed}} {
		if pair[0].Units != pair[1].Units {
			t.Errorf("part %d costs %+v at %d messages and %+v at %d", i, pair[0], histories()[0], pair[1], histories()[1])
		}
	}
}
