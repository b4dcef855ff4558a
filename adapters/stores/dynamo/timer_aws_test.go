//go:build aws

package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
)

// timerCosts are what a call costs that waits for a time.
type timerCosts struct{ wait, hint, moved, woken cost }

// What each may cost. The claim that wakes the call writes one record more than the claim of a
// call that a person has decided, before the head: the decision. The step that waits is a unit
// cheaper, since no index lists what waits for a time.
var timerBudgets = struct{ wait, hint, moved, woken budget }{
	wait:  budget{write: 9, read: 2, rounds: 7},
	hint:  budget{write: 0, read: 1, rounds: 1},
	moved: budget{write: 3, read: 1, rounds: 2},
	woken: budget{write: 6, read: 5, rounds: 9},
}

// waitsForATime are waits, with the times of the sweeps that find the thread due: a thread that
// stops to work is due for some minutes more, and a long wait ten minutes before its end.
var waitsForATime = []struct {
	name   string
	wait   time.Duration
	sweeps []time.Duration
}{
	{"90 s", 90 * time.Second, nil},
	{"15 minutes", 15 * time.Minute, []time.Duration{4 * time.Minute}},
	{"a day", 24 * time.Hour, []time.Duration{4 * time.Minute, 24*time.Hour - 8*time.Minute}},
}

// sleepAndWake meters runs of one call that waits for a time, on a thread that holds so many
// messages. The text that ends each run is not metered here.
func sleepAndWake(t testing.TB, history int, wait time.Duration, sweeps []time.Duration) timerCosts {
	t.Helper()
	b := longThread(t, chatter{calls: first(1), text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		b.step(t)
		b.step(t)
	})
	b.sleeps = wait
	var all [4][]cost
	for i := range meteredSteps + 1 {
		for part, costs := range b.sleepOnce(t, sweeps) {
			if i > 0 { // the first step is a cold one
				all[part] = append(all[part], costs...)
			}
		}
	}
	if len(sweeps) == 0 {
		all[2] = []cost{{Rounds: timerBudgets.moved.rounds}}
	}
	return timerCosts{mean(all[0]), mean(all[1]), mean(all[2]), mean(all[3])}
}

func (b *bench) sleepOnce(t testing.TB, sweeps []time.Duration) (parts [4][]cost) {
	t.Helper()
	b.submit(t, 1)
	at := func(part int, when time.Time, sweep bool) {
		t.Helper()
		b.clock.Store(int64(when.Sub(noon) - 10*time.Second)) // a step adds them
		if err := b.queue.Wake(t.Context(), core.WakeUp{Tenant: theThread.Tenant, Thread: theThread.Thread, Sweep: sweep}, 0); err != nil {
			t.Fatal(err)
		}
		parts[part] = append(parts[part], b.measure(func() { b.step(t) }))
	}
	parts[0] = []cost{b.measure(func() { b.step(t) })}
	began, executed := b.now(), b.executed.Load()
	at(1, began.Add(30*time.Second), false)
	for _, after := range sweeps {
		at(2, began.Add(after), true)
		at(1, began.Add(after).Add(30*time.Second), true)
	}
	at(1, began.Add(b.sleeps).Add(-time.Millisecond), false)
	if b.waiting() || b.executed.Load() != executed {
		t.Fatal("the call does not wait")
	}
	at(3, began.Add(b.sleeps), false)
	if b.executed.Load() != executed+1 {
		t.Fatal("the call is not woken")
	}
	b.step(t)
	if b.waiting() {
		t.Fatal("the run continues after its text")
	}
	return parts
}

// TestTimerBudget checks what a call that waits for a time may cost: the step that ends with it,
// a hint that finds it waiting, a sweep's hint, which moves the time at which the thread is due, and
// the step that wakes it, with a result of 2 KB. Nothing else reads or writes.
func TestTimerBudget(t *testing.T) {
	for _, tt := range waitsForATime {
		var all []timerCosts
		for _, history := range histories() {
			c := sleepAndWake(t, history, tt.wait, tt.sweeps)
			at := fmt.Sprintf("%s at %d messages", tt.name, history)
			timerBudgets.wait.hold(t, "a step that waits for "+at, c.wait)
			timerBudgets.hint.hold(t, "a hint in a wait of "+at, c.hint)
			timerBudgets.moved.hold(t, "a sweep's hint in a wait of "+at, c.moved)
			timerBudgets.woken.hold(t, "a step that wakes a call after "+at, c.woken)
			all = append(all, c)
		}
		for i, pair := range [][2]cost{{all[0].wait, all[1].wait}, {all[0].hint, all[1].hint}, {all[0].moved, all[1].moved}, {all[0].woken, all[1].woken}} {
			if pair[0].Units != pair[1].Units {
				t.Errorf("%s: part %d costs %+v at %d messages and %+v at %d", tt.name, i, pair[0], histories()[0], pair[1], histories()[1])
			}
		}
	}
}
