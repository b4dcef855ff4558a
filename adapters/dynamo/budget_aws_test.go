//go:build aws

package dynamo_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/awsenv"
	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/tool"
)

// meteredSteps is how many background steps a mean is taken of. Every step takes
// 10 s of the clock, so that the due index moves as often as in a busy thread.
// Answers have 500 B, tool results 2 KB, after compression.
const meteredSteps = 20

// metered are the steps whose cost is budgeted.
var metered = []struct {
	name        string
	calls       func(last core.Role) int // of a turn, by the last message before it
	prepare     func(t testing.TB, b *bench)
	write, read float64
}{
	{"two tool results of 2 KB", func(core.Role) int { return 2 },
		func(testing.TB, *bench) {}, 11.4, 1},
	{"a text that ends a run", func(last core.Role) int { return map[core.Role]int{core.RoleUser: 1}[last] },
		func(t testing.TB, b *bench) { b.submit(t, 1); b.step(t) }, 5, 1},
	{"a text that is a whole run, with its queued input", func(core.Role) int { return 0 },
		func(t testing.TB, b *bench) { b.submit(t, 1) }, 6, 2},
}

// histories are the lengths of thread, in messages, at which a step must cost
// the same.
var histories = []int{10, 1000}

// meter answers the mean cost of a step on a thread that holds so many messages
// already.
func meter(t testing.TB, calls func(core.Role) int, prepare func(testing.TB, *bench), history int) (mean dynamo.Units, kinds map[string]dynamo.Units) {
	t.Helper()
	b := newBench(t, chatter{calls: calls, text: 500})
	b.submit(t, history)
	for range 2 { // warm: both steps of a run, or the start of an endless one
		if len(b.hints) > 0 {
			b.step(t)
		}
	}
	b.meter.Reset()
	var sum dynamo.Units
	for range meteredSteps {
		prepare(t, b)
		prepared := b.meter.Total()
		b.step(t)
		after := b.meter.Total()
		sum.Write += after.Write - prepared.Write
		sum.Read += after.Read - prepared.Read
	}
	return dynamo.Units{Write: sum.Write / meteredSteps, Read: sum.Read / meteredSteps}, b.meter.Units()
}

// TestStepBudget holds a step to what it may cost, however long its thread is.
func TestStepBudget(t *testing.T) {
	for _, tt := range metered {
		t.Run(tt.name, func(t *testing.T) {
			var costs []dynamo.Units
			for _, history := range histories {
				cost, kinds := meter(t, tt.calls, tt.prepare, history)
				if cost.Write > tt.write || cost.Read > tt.read {
					t.Errorf("at %d messages a step costs %.2f WCU and %.2f RRU, at most %.1f and %.1f are allowed; by kind: %+v",
						history, cost.Write, cost.Read, tt.write, tt.read, kinds)
				}
				costs = append(costs, cost)
			}
			if costs[0] != costs[1] {
				t.Errorf("a step costs %+v at %d messages and %+v at %d", costs[0], histories[0], costs[1], histories[1])
			}
		})
	}
}

// BenchmarkStepUnits prints what TestStepBudget asserts.
func BenchmarkStepUnits(b *testing.B) {
	for _, m := range metered {
		for _, history := range histories {
			b.Run(fmt.Sprintf("%s, %d messages", m.name, history), func(b *testing.B) {
				var cost dynamo.Units
				for b.Loop() {
					cost, _ = meter(b, m.calls, m.prepare, history)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(cost.Write, "WCU/step")
				b.ReportMetric(cost.Read, "RRU/step")
			})
		}
	}
}

// noon is where the clock starts, so that the due index moves the same each time.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bench is a runtime on a metered table, with a queue that the test works off.
type bench struct {
	*runtime.Runtime
	meter *dynamo.Meter
	clock atomic.Int64 // since noon, in nanoseconds

	mu    sync.Mutex
	hints []core.WakeUp
}

// Wake implements mailbox.Waker.
func (b *bench) Wake(_ context.Context, w core.WakeUp, delay time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delay == 0 {
		b.hints = append(b.hints, w)
	}
	return nil
}

func newBench(t testing.TB, answers chatter) *bench {
	t.Helper()
	_, table := client(t)
	b := &bench{meter: dynamo.NewMeter(http.DefaultTransport)}
	c, err := dynamo.NewClient(awsenv.Config{Transport: b.meter, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e := env.System()
	e.Now = func() time.Time { return noon.Add(time.Duration(b.clock.Load())) }
	lookup, err := tool.Typed(tool.Spec{Name: "lookup", Description: "Answers 2 KB that cannot be compressed."},
		func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.Text(noise(2048)), nil })
	if err != nil {
		t.Fatal(err)
	}
	none := 0
	b.Runtime, err = runtime.Build(runtime.Config{
		Env: e, Store: dynamo.New(c, dynamo.Options{Table: table, Now: e.Now}), Waker: b, Due: dynamo.DuePolicy(),
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: answers, Name: "m"}},
			Tools:  []tool.Tool{lookup},
			Specs:  []agent.Spec{{ID: "demo", Model: "m", MaxRounds: &none}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// submit enqueues a run of so many user messages.
func (b *bench) submit(t testing.TB, messages int) {
	t.Helper()
	_, err := b.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, AgentID: "demo",
		Messages: slices.Repeat([]core.Message{core.UserMessage("", "go on")}, messages),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// step works the next hint, 10 s after the last.
func (b *bench) step(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	if len(b.hints) == 0 {
		b.mu.Unlock()
		t.Fatal("there is no hint to work on")
	}
	hint := b.hints[0]
	b.hints = b.hints[1:]
	b.mu.Unlock()
	b.clock.Add(int64(10 * time.Second))
	if err := b.Work(t.Context(), hint); err != nil {
		t.Fatal(err)
	}
}

// chatter is a model that answers text bytes and calls the tool.
type chatter struct {
	calls func(last core.Role) int
	text  int
}

// Stream implements model.Model.
func (c chatter) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	deltas := []model.Delta{{Type: model.DeltaText, Text: noise(c.text)}}
	calls := c.calls(request.Messages[len(request.Messages)-1].Role)
	for i := range calls {
		deltas = append(deltas,
			model.Delta{Type: model.DeltaToolStart, Index: i, Name: "lookup", CallID: fmt.Sprint("call-", i)},
			model.Delta{Type: model.DeltaToolArgument, Index: i, Text: "{}"})
	}
	stop := core.StopEndTurn
	if calls > 0 {
		stop = core.StopToolUse
	}
	deltas = append(deltas, model.Delta{Type: model.DeltaStop, Stop: stop})
	return func(yield func(model.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// noise is a text that has n bytes when it is compressed.
func noise(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.IntN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}
