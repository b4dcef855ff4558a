//go:build aws

package dynamo_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/tool"
)

// TestStepBudget holds the mean of 20 background steps to what a step may cost.
// Every step takes 10 s of the clock, so that the due index moves as often as
// in a busy thread. Answers have 500 B, tool results 2 KB, after compression.
func TestStepBudget(t *testing.T) {
	const steps = 20
	tests := []struct {
		name        string
		calls       func(last core.Role) int // of a turn, by the last message before it
		prepare     func(t *testing.T, b *bench)
		write, read float64
	}{
		{"two tool results of 2 KB", func(core.Role) int { return 2 },
			func(*testing.T, *bench) {}, 11.4, 1},
		{"a text that ends a run", func(last core.Role) int { return map[core.Role]int{core.RoleUser: 1}[last] },
			func(t *testing.T, b *bench) { b.submit(t); b.step(t) }, 5, 1},
		{"a text that is a whole run, with its queued input", func(core.Role) int { return 0 },
			func(t *testing.T, b *bench) { b.submit(t) }, 6, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, chatter{calls: tt.calls, text: 500})
			b.submit(t)
			for range 2 { // warm: both steps of a run, or the start of an endless one
				if len(b.hints) > 0 {
					b.step(t)
				}
			}
			cost := dynamo.Units{}
			for range steps {
				tt.prepare(t, b)
				before := b.meter.Total()
				b.step(t)
				after := b.meter.Total()
				cost.Write += after.Write - before.Write
				cost.Read += after.Read - before.Read
			}
			t.Logf("%.2f WCU and %.2f RRU a step", cost.Write/steps, cost.Read/steps)
			if got := cost.Write / steps; got > tt.write {
				t.Errorf("a step writes %.2f units, at most %.1f are allowed; by kind: %+v", got, tt.write, b.meter.Units())
			}
			if got := cost.Read / steps; got > tt.read {
				t.Errorf("a step reads %.2f units, at most %.1f are allowed; by kind: %+v", got, tt.read, b.meter.Units())
			}
		})
	}
}

// bench is a runtime on a metered table, with a queue that the test works off.
type bench struct {
	*runtime.Runtime
	meter *dynamo.Meter
	clock atomic.Int64 // added to the wall clock, in nanoseconds

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

func newBench(t *testing.T, answers chatter) *bench {
	t.Helper()
	_, table := client(t)
	b := &bench{meter: dynamo.NewMeter(http.DefaultTransport)}
	c, err := dynamo.NewClient(dynamo.Config{Transport: b.meter, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e := env.System()
	e.Now = func() time.Time { return time.Now().Add(time.Duration(b.clock.Load())) }
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

func (b *bench) submit(t *testing.T) {
	t.Helper()
	_, err := b.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, AgentID: "demo",
		Messages: []core.Message{core.UserMessage("", "go on")},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// step works the next hint, 10 s after the last.
func (b *bench) step(t *testing.T) {
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
