//go:build aws

package dynamo_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// What the step of a process costs that takes over a step with two tool results: where the
// model has to say its turn again, and where the turn is stored, with results or without.
// A stored result is written again, under the new claim.
var (
	takeoverOfNothing = kindOfStep{name: "takeover of a step with two tool results that died before its turn was stored", budget: budget{write: 11, read: 19, rounds: 9}}
	takeoverOfTurn    = kindOfStep{name: "takeover of such a step that died after that, at any point before its commit", budget: budget{write: 9, read: 20, rounds: 8}}
)

// takeovers are the deaths.
var takeovers = []struct {
	name  string
	at    env.Point
	after bool // the process dies after the write, not before it
	kind  kindOfStep
	tools int64 // that run in the second process
}{
	{"before its turn", "W6", false, takeoverOfNothing, 2},
	{"after its turn", "W6", true, takeoverOfTurn, 2},
	{"after its first result", "W8", true, takeoverOfTurn, 1},
	{"before its commit", "W9", false, takeoverOfTurn, 1},
}

// TestTakeoverBudget kills the process of a step in a thread of messages of 2 KB. Its second
// hint brings the run to a new process, which reads what a cold step reads, and writes what is
// missing of the step.
func TestTakeoverBudget(t *testing.T) {
	for _, tt := range takeovers {
		t.Run(tt.name, func(t *testing.T) {
			b := longThread(t, chatter{calls: always(2), text: 2048}, func(t testing.TB, b *bench) {
				b.submit(t, 1)
				for b.seq(t) < 200 {
					b.step(t)
				}
			})
			b.model.text = 500
			costs := repeated(3, tt.kind.budget.rounds, func() cost {
				before := b.seq(t)
				b.die(t, tt.at, tt.after)
				b.executed.Store(0)
				c := b.measure(func() { b.step(t) })
				if seq, executed := b.seq(t), b.executed.Load(); seq != before+3 || executed != tt.tools {
					t.Fatalf("the log has %d records more, and %d tools have run; want 3 and %d", seq-before, executed, tt.tools)
				}
				return c
			})
			tt.kind.budget.hold(t, "a takeover", mean(costs))
		})
	}
}

var errDied = errors.New("died")

// die runs a step in a process that ends at a point: after it, no request of the process
// reaches the table. Two leases later a new process receives the second hint.
func (b *bench) die(t testing.TB, at env.Point, after bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var dead atomic.Bool
	kill := func() { dead.Store(true); end() }
	b.reach = func(p env.Point) func() {
		if p != at {
			return func() {}
		}
		if !after {
			kill()
		}
		return kill
	}
	second := b.queue.Messages()[0].Hint
	table := b.backend
	b.backend = &storetest.Faulty{Backend: table, Around: func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
		if dead.Load() {
			return core.Errorf(core.CodeInvalid, "%w", errDied)
		}
		return do(ctx)
	}}
	b.restart(t)
	b.clock.Add(int64(10 * time.Second))
	_ = b.WorkBatch(ctx, b.queue.Batch(1))
	if !dead.Load() {
		t.Fatalf("the step does not come to %s", at)
	}
	if sent := len(b.queue.Messages()); sent > 0 {
		t.Fatalf("a dead process has sent %d hints", sent)
	}
	b.backend, b.reach = table, nil
	b.restart(t)
	b.clock.Add(int64(time.Minute))
	if err := b.queue.Wake(t.Context(), second, 0); err != nil {
		t.Fatal(err)
	}
}
