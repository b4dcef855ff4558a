//go:build aws

package dynamo_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// meteredSteps is how many background steps a mean is taken of. Every step takes
// 10 s of the clock, so that the due index moves as often as in a busy thread.
// Texts have 500 B, tool results 2 KB, after compression.
const meteredSteps = 20

// budget is what something may cost at most, and the round trips that it takes.
type budget struct {
	write, read float64
	rounds      int
}

// kindOfStep is a step that has a budget.
type kindOfStep struct {
	name    string // as in README.md
	calls   func([]core.Message) int
	prepare func(t testing.TB, b *bench) // what must have happened before the step
	budget  budget
}

// The kinds of warm steps.
var kindsOfSteps = []kindOfStep{
	{"warm step with two tool results", always(2), nothing, budget{write: 10.2, read: 1, rounds: 7}},
	{"warm step with one tool result", always(1), nothing, budget{write: 7.1, read: 1, rounds: 6}},
	{"warm step: the text that ends a run", first(1), func(t testing.TB, b *bench) { b.submit(t, 1); b.step(t) }, budget{write: 5, read: 1, rounds: 4}},
	{"warm step: a text that is a whole run, with its queued input", always(0), func(t testing.TB, b *bench) { b.submit(t, 1) }, budget{write: 6, read: 2, rounds: 5}},
	{"warm step: a text that ends a run, with two inputs steered to it", everySecond(), steered, budget{write: 9, read: 3, rounds: 5}},
}

// TestTheDocumentHasTheBudgets compares the table of README.md with the budgets of warm
// steps, decisions and takeovers.
func TestTheDocumentHasTheBudgets(t *testing.T) {
	document, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := slices.Concat(kindsOfSteps, []kindOfStep{
		{name: "warm step, the first of a run, that ends with a call that waits for a person", budget: decisionBudgets.wait},
		{name: "the decision", budget: decisionBudgets.decision},
		{name: "warm step that continues with the decided call and its result", budget: decisionBudgets.resumed},
		{name: "warm step, the first of a run, that ends with a call that waits for a time", budget: timerBudgets.wait},
		{name: "a hint while the call waits", budget: timerBudgets.hint},
		{name: "a hint of the sweep while the call waits", budget: timerBudgets.moved},
		{name: "warm step that continues with the woken call and its result", budget: timerBudgets.woken},
		{name: "warm step, the first of a run, that starts a child run and waits for it", budget: childBudgets.start},
		{name: "a child run of one text, and the notice to its parent", budget: childBudgets.end},
		{name: "warm step that continues with the end of a child run as the result of its call", budget: childBudgets.resumed},
		{name: "the request to cancel a run that waits", budget: childEndBudgets.request},
		{name: "warm step that closes a cancelled run that waits for a person", budget: childEndBudgets.alone},
		{name: "warm step that closes a cancelled run that waits for a child run, and the notice to the child", budget: childEndBudgets.parent},
		{name: "step that closes the child run, which waits for a person", budget: childEndBudgets.child},
		{name: "a message to an idle thread, in addition to the step that sends it", budget: messageBudget},
		takeoverOfNothing, takeoverOfTurn,
	})
	for _, kind := range kinds {
		b := kind.budget
		if row := fmt.Sprintf("| %s | %g | %g | %d |", kind.name, b.write, b.read, b.rounds); !strings.Contains(string(document), row) {
			t.Errorf("README.md does not have the row %q", row)
		}
	}
}

func nothing(testing.TB, *bench) {}

// steered takes a run to its last step and gives it two inputs.
func steered(t testing.TB, b *bench) {
	t.Helper()
	b.submit(t, 1)
	b.step(t)
	b.queue.Lose = func(core.WakeUp, time.Duration) bool { return true } // there is a hint already
	for range 2 {
		b.send(t, mailbox.Submission{Mode: mailbox.ModeSteer, Messages: []core.Message{core.UserMessage(noise(500))}})
	}
	b.queue.Lose = atOnce
}

// histories are the lengths of thread, in messages, at which a step must cost
// the same.
func histories() []int { return []int{10, longest()} }

// longest is that of a long thread. With -short it is a tenth, which is still far more than
// the window of the model.
func longest() int {
	if testing.Short() {
		return 1_000
	}
	return 10_000
}

// cost is what was metered. State snapshots, event chunks and follow marks are apart, in
// Kinds alone: they come every so many steps and bytes. So is what lists threads and
// runs, which is written where a run is submitted, waits and ends: TestListingBudget.
type cost struct {
	dynamotest.Units
	Rounds int
	Kinds  map[string]dynamotest.Units
}

// measure meters what do sends.
func (b *bench) measure(do func()) cost {
	b.meter.Reset()
	do()
	c := cost{Units: b.meter.Total(), Rounds: b.meter.Rounds(), Kinds: b.meter.Units()}
	for _, kind := range []string{"snapshot", "event", "mark", "listing"} {
		apart := c.Kinds[kind]
		c.Write -= apart.Write
		c.Read -= apart.Read
		c.Calls -= apart.Calls
	}
	return c
}

// repeated takes n measures, and up to four times as many while none of them has as few
// round trips as there should be: a busy machine makes them more.
func repeated(n, rounds int, measure func() cost) (costs []cost) {
	for len(costs) < n || mean(costs).Rounds > rounds && len(costs) < 4*n {
		costs = append(costs, measure())
	}
	return costs
}

// mean is that of the units; the round trips are the least, since a busy machine
// makes them more. Kinds are sums.
func mean(costs []cost) cost {
	m := cost{Rounds: costs[0].Rounds, Kinds: map[string]dynamotest.Units{}}
	for _, c := range costs {
		m.Write += c.Write
		m.Read += c.Read
		m.Rounds = min(m.Rounds, c.Rounds)
		for kind, u := range c.Kinds {
			sum := m.Kinds[kind]
			m.Kinds[kind] = dynamotest.Units{Write: sum.Write + u.Write, Read: sum.Read + u.Read, Calls: sum.Calls + u.Calls}
		}
	}
	m.Write /= float64(len(costs))
	m.Read /= float64(len(costs))
	return m
}

// hold compares a cost with its budget.
func (limit budget) hold(t testing.TB, what string, c cost) {
	t.Helper()
	if c.Write > limit.write || c.Read > limit.read || c.Rounds != limit.rounds {
		t.Errorf("%s costs %.2f WCU and %.2f RRU in %d round trips, at most %.1f and %.1f in %d are allowed; by kind: %+v",
			what, c.Write, c.Read, c.Rounds, limit.write, limit.read, limit.rounds, c.Kinds)
	}
}

// steps measures the kind of step on a process that is warm.
func (k kindOfStep) steps(t testing.TB, b *bench) cost {
	t.Helper()
	costs := make([]cost, meteredSteps)
	for i := range costs {
		k.prepare(t, b)
		costs[i] = b.measure(func() { b.step(t) })
	}
	return mean(costs)
}

// warm measures the kind of step on a thread that holds so many messages.
func (k kindOfStep) warm(t testing.TB, history int) cost {
	t.Helper()
	b := longThread(t, chatter{calls: k.calls, text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		for range 2 { // both steps of a run, or the start of an endless one
			if b.waiting() {
				b.step(t)
			}
		}
	})
	k.prepare(t, b)
	b.step(t) // the first is a cold one
	return k.steps(t, b)
}

// TestStepBudget holds a warm step to what it may cost, however long its thread.
func TestStepBudget(t *testing.T) {
	for _, kind := range kindsOfSteps {
		t.Run(kind.name, func(t *testing.T) {
			var costs []cost
			for _, history := range histories() {
				c := kind.warm(t, history)
				kind.budget.hold(t, fmt.Sprintf("a step at %d messages", history), c)
				costs = append(costs, c)
			}
			if costs[0].Units != costs[1].Units {
				t.Errorf("a step costs %+v at %d messages and %+v at %d", costs[0], histories()[0], costs[1], histories()[1])
			}
		})
	}
}

// TestColdStepBudget: a new process that takes a step of a thread of 10,000 messages
// of 2 KB, or 1,000 with -short, reads its window and no more, and writes what a warm one
// writes. The window has 46 of them, about 14 read units. Three more are the
// claim, the run's record or queued input, and the first message of a run that
// began before the window; half a one is the snapshot of the state. Where a run
// begins, the process also stores the run's agent, once in its life.
func TestColdStepBudget(t *testing.T) {
	tests := []struct {
		name    string
		calls   func([]core.Message) int
		history func(t testing.TB, b *bench)
		prepare func(t testing.TB, b *bench)
		cold    budget
		agents  int // writes of the agent that a run begins with, by a process that has not stored it
		warm    kindOfStep
	}{
		{"as one run, two tool results more", always(2), oneRun, nothing,
			budget{write: 11, read: 19, rounds: 9}, 0, kindsOfSteps[0]},
		{"as runs of ten messages, a text that is a whole run more", first(4), shortRuns, func(t testing.TB, b *bench) { b.submit(t, 1) },
			budget{write: 7, read: 18, rounds: 7}, 1, kindsOfSteps[3]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := longThread(t, chatter{calls: tt.calls, text: 2048}, tt.history)
			b.model.calls, b.model.text = tt.warm.calls, 500
			costs := repeated(3, tt.cold.rounds, func() cost {
				tt.prepare(t, b)
				b.restart(t)
				return b.measure(func() { b.step(t) })
			})
			cold := mean(costs)
			tt.cold.hold(t, "a cold step", cold)
			if got, want := cold.Kinds["config"].Calls, tt.agents*len(costs); got != want {
				t.Errorf("%d cold steps asked %d times for the table of agents, want %d", len(costs), got, want)
			}
			tt.warm.budget.hold(t, "a warm step", tt.warm.steps(t, b))
		})
	}
}

// oneRun is a run that goes on and on.
func oneRun(t testing.TB, b *bench) {
	t.Helper()
	b.submit(t, 1)
	for b.seq(t) < uint64(longest()) {
		b.step(t)
	}
}

// shortRuns are runs of ten messages each: the input, four turns with a
// result each, and a text.
func shortRuns(t testing.TB, b *bench) {
	t.Helper()
	for range longest() / 10 {
		b.send(t, mailbox.Submission{Messages: []core.Message{core.UserMessage(noise(2048))}})
		for b.waiting() {
			b.step(t)
		}
	}
	if got := b.seq(t); got < uint64(longest()) {
		t.Fatalf("the runs have %d messages, want %d", got, longest())
	}
}

func (b *bench) seq(t testing.TB) uint64 {
	t.Helper()
	head, err := b.backend.Head(t.Context(), theThread)
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// TestBatchBudget: the runs of one delivery cost what each of them costs alone,
// at the same time.
func TestBatchBudget(t *testing.T) {
	other := mailbox.Submission{Thread: core.ThreadKey{Tenant: theThread.Tenant, Thread: "t2"}, Messages: []core.Message{core.UserMessage("go on")}}
	b := newBench(t, chatter{calls: always(0), text: 500})
	batch := func() cost {
		b.submit(t, 1)
		b.send(t, other)
		return b.measure(func() { b.batch(t, 2) })
	}
	batch() // the first of a process
	budget{write: 12, read: 4, rounds: 5}.hold(t, "a batch of two texts", mean(repeated(9, 5, batch)))
}

// TestSubmissionBudget meters what it takes until a submission is durable.
func TestSubmissionBudget(t *testing.T) {
	input := []core.Message{core.UserMessage(noise(500))}
	tests := []struct {
		name   string
		before func(t *testing.T, b *bench)
		key    string
		want   cost
	}{
		{"to a new thread", func(*testing.T, *bench) {}, "", cost{Units: dynamotest.Units{Write: 4, Read: 1, Calls: 4}, Rounds: 4}},
		{"to a new thread, with a key", func(*testing.T, *bench) {}, "k", cost{Units: dynamotest.Units{Write: 5, Read: 2, Calls: 6}, Rounds: 4}},
		{"to a thread that has work", func(t *testing.T, b *bench) { b.submit(t, 1) }, "", cost{Units: dynamotest.Units{Write: 3, Read: 1, Calls: 4}, Rounds: 4}},
		{"to a thread that has work, with a key", func(t *testing.T, b *bench) { b.submit(t, 1) }, "k", cost{Units: dynamotest.Units{Write: 4, Read: 2, Calls: 6}, Rounds: 4}},
		{"again, with the same key", func(t *testing.T, b *bench) {
			b.send(t, mailbox.Submission{Messages: input, Key: mailbox.Key{Value: "k"}})
		}, "k",
			cost{Units: dynamotest.Units{Read: 2, Calls: 2}, Rounds: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			costs := repeated(3, tt.want.Rounds, func() cost {
				b := newBench(t, chatter{calls: always(0), text: 500})
				tt.before(t, b)
				return b.measure(func() { b.send(t, mailbox.Submission{Messages: input, Key: mailbox.Key{Value: tt.key}}) })
			})
			got := mean(costs)
			got.Calls = costs[0].Calls
			if got.Units != tt.want.Units || got.Rounds != tt.want.Rounds {
				t.Errorf("costs %+v, want %+v in %d round trips", got, tt.want.Units, tt.want.Rounds)
			}
		})
	}
}

// TestListingBudget meters what lists threads and runs: two units for a run and two for
// its thread where they are new, each with its index entry; three where a run ends,
// since the thread moves in its list. A step in between writes none.
func TestListingBudget(t *testing.T) {
	b := newBench(t, chatter{calls: first(1), text: 500})
	listing := func(what string, want dynamotest.Units, do func()) {
		t.Helper()
		b.clock.Add(int64(time.Second))
		if got := b.measure(do).Kinds["listing"]; got != want {
			t.Errorf("%s costs %+v for lists, want %+v", what, got, want)
		}
	}
	listing("a submission to a new thread", dynamotest.Units{Write: 4, Calls: 2}, func() { b.submit(t, 1) })
	listing("a step with a tool call", dynamotest.Units{}, func() { b.step(t) })
	listing("the step that ends the run", dynamotest.Units{Write: 3, Calls: 1}, func() { b.step(t) })
	listing("a submission to a thread that is there", dynamotest.Units{Write: 2, Calls: 1}, func() { b.submit(t, 1) })
}

// TestInlineBudget: a run that is streamed from its submission on, of one text,
// and the same of two steps, with a tool result of 2 KB.
func TestInlineBudget(t *testing.T) {
	tests := []struct {
		name  string
		calls func() func([]core.Message) int
		want  budget
	}{
		{"of one text", func() func([]core.Message) int { return always(0) }, budget{write: 9, read: 1, rounds: 6}},
		{"of two steps", everySecond, budget{write: 16, read: 1, rounds: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, chatter{calls: tt.calls(), text: 500})
			costs := make([]cost, 4)
			for i := range costs {
				costs[i] = b.measure(func() {
					s := mailbox.Submission{Thread: theThread, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(noise(500))}}
					if _, err := b.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
						t.Fatal(err)
					}
				})
			}
			tt.want.hold(t, "a run", mean(costs[1:]))
		})
	}
}

// TestWaitingStreamBudget: a stream whose run waits reads the head each time it
// looks, and nothing else.
func TestWaitingStreamBudget(t *testing.T) {
	const settled, looks = 10, 100
	b := newBench(t, chatter{calls: always(0), text: 500})
	receipt := b.submit(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	naps, total := 0, dynamotest.Units{}
	b.nap = func(ctx context.Context, d time.Duration) error {
		b.clock.Add(int64(d))
		switch naps++; naps {
		case settled:
			b.meter.Reset()
		case settled + looks:
			total = b.meter.Total()
			cancel()
			return context.Cause(ctx)
		}
		return nil
	}
	if err := b.Follow(ctx, core.Identity{Tenant: theThread.Tenant}, receipt.RunID, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
		t.Fatal(err)
	}
	if want := (dynamotest.Units{Read: looks, Calls: looks}); total != want {
		t.Errorf("%d looks cost %+v, want %+v", looks, total, want)
	}
}

// BenchmarkStepUnits prints what TestStepBudget asserts.
func BenchmarkStepUnits(b *testing.B) {
	for _, kind := range kindsOfSteps {
		for _, history := range histories() {
			b.Run(fmt.Sprintf("%s, %d messages", kind.name, history), func(b *testing.B) {
				var c cost
				for b.Loop() {
					c = kind.warm(b, history)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(c.Write, "WCU/step")
				b.ReportMetric(c.Read, "RRU/step")
				b.ReportMetric(float64(c.Rounds), "rounds/step")
			})
		}
	}
}
