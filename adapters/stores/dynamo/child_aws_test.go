//go:build aws

package dynamo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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

// helper is the model of child runs. It says a text, and calls the tool first if that asks a person.
func (b *bench) helper() *chatter {
	return &chatter{text: 500, calls: func(messages []core.Message) int {
		if !b.helpAsks {
			return 0
		}
		return first(1)(messages)
	}}
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

// childEnds are what a cancel costs: the request, the step that closes a run that waits for a
// person, the step that closes one that waits for a child run, and the step that closes the child.
type childEnds struct{ request, alone, parent, child cost }

// What each may cost. The end of a run that has an open child writes an entry with the head, and a
// record that lists the children. The delivery writes the head of the child, and then that of the
// run once more. Both heads also move in the index of what is due.
var childEndBudgets = struct{ request, alone, parent, child budget }{
	request: budget{write: 2, read: 2, rounds: 3},
	alone:   budget{write: 5, read: 5, rounds: 8},
	parent:  budget{write: 10, read: 10, rounds: 15},
	child:   budget{write: 6, read: 8, rounds: 12},
}

// cancelOnce cancels a run that waits, and returns what the request and each step after it cost.
func (b *bench) cancelOnce(t testing.TB) (costs []cost) {
	t.Helper()
	b.submit(t, 1)
	for b.waiting() {
		b.step(t)
	}
	b.clock.Add(int64(10 * time.Second))
	costs = append(costs, b.measure(func() {
		if _, err := b.CancelThread(t.Context(), core.Identity{Tenant: theThread.Tenant}, theThread.Thread); err != nil {
			t.Fatal(err)
		}
	}))
	for b.waiting() {
		costs = append(costs, b.measure(func() { b.step(t) }))
	}
	if head, err := b.backend.Head(t.Context(), theThread); err != nil || head.Open() || len(head.Outbox) > 0 {
		t.Fatalf("the run is not over: %+v, %v", head, err)
	}
	return costs
}

// cancelOften meters cancels of a run that waits for a person, and of one that waits for a child
// which waits for a person.
func cancelOften(t testing.TB, history int) childEnds {
	t.Helper()
	b := longThread(t, chatter{calls: first(1), text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		b.step(t)
		b.step(t)
	})
	var all [4][]cost
	b.helpAsks = true
	for i := range meteredSteps + 1 {
		b.asks, b.starts = true, false
		alone := b.cancelOnce(t)
		b.asks, b.starts = false, true
		with := b.cancelOnce(t)
		if len(alone) != 2 || len(with) != 3 {
			t.Fatalf("the cancels take %d and %d parts, want 2 and 3", len(alone), len(with))
		}
		for part, c := range append([]cost{with[0], alone[1]}, with[1:]...) {
			if i > 0 { // the first steps are cold ones
				all[part] = append(all[part], c)
			}
		}
	}
	return childEnds{mean(all[0]), mean(all[1]), mean(all[2]), mean(all[3])}
}

// TestChildEndBudget checks what the end of a run may cost that has an open child.
func TestChildEndBudget(t *testing.T) {
	var all []childEnds
	for _, history := range histories() {
		c := cancelOften(t, history)
		at := fmt.Sprintf("at %d messages", history)
		childEndBudgets.request.hold(t, "the request to cancel a run "+at, c.request)
		childEndBudgets.alone.hold(t, "the close of a run without a child "+at, c.alone)
		childEndBudgets.parent.hold(t, "the close of a run with a child "+at, c.parent)
		childEndBudgets.child.hold(t, "the close of the child "+at, c.child)
		for what, part := range map[string]cost{"the run": c.parent, "the child": c.child} {
			if listed := part.Kinds["listing"].Write / meteredSteps; listed != 3 {
				t.Errorf("the lists of %s cost %g write units, want 3", what, listed)
			}
		}
		all = append(all, c)
	}
	for i, pair := range [][2]cost{{all[0].request, all[1].request}, {all[0].alone, all[1].alone}, {all[0].parent, all[1].parent}, {all[0].child, all[1].child}} {
		if pair[0].Units != pair[1].Units {
			t.Errorf("part %d costs %+v at %d messages and %+v at %d", i, pair[0], histories()[0], pair[1], histories()[1])
		}
	}
}
