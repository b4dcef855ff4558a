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
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// theThread is the one that everything happens on.
var theThread = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// noon is where the clock starts, so that the due index moves the same each time.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bench is a process: a runtime on a store, a queue that the test works off,
// and a clock that moves when the test says so.
type bench struct {
	*host.Host
	backend  store.Backend
	client   *dynamodb.Client // of the table; nil in memory
	table    string
	meter    *dynamotest.Meter // of everything that goes to the table
	model    *chatter
	asks     bool                   // calls wait for a person
	sleeps   time.Duration          // calls wait for so long; 0: not at all
	starts   bool                   // calls start a child run, and wait for its end
	helpAsks bool                   // calls of child runs wait for a person
	writes   bool                   // calls send a message to the other thread
	window   int                    // tokens that a model is shown at most; 0: the default
	executed atomic.Int64           // executions of the tool
	reach    func(env.Point) func() // see env.Env.Reach; nil: nothing happens
	clock    atomic.Int64           // since noon, in nanoseconds
	nap      func(context.Context, time.Duration) error
	queue    mailboxtest.Queue // of hints without a delay: the others are never waited for
}

// far is an endpoint whose responses take 3 ms longer, about as long as DynamoDB's. Requests
// that are sent side by side are on their way side by side, on a busy machine, too: the meter
// counts those as one round trip.
type far struct{ next http.RoundTripper }

func (f far) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f.next.RoundTrip(r)
	time.Sleep(3 * time.Millisecond)
	return response, err
}

// newBench is a process on a table of its own.
func newBench(t testing.TB, talk chatter) *bench {
	t.Helper()
	maker, table := client(t)
	b := &bench{table: table, meter: &dynamotest.Meter{Next: far{http.DefaultTransport}}, model: &talk}
	c, err := dynamo.NewClient(awsenv.Config{Transport: b.meter, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b.client, b.backend = c, dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, maker), Now: b.now})
	b.restart(t)
	return b
}

// restart makes the process a new one, which has nothing of the thread in its
// memory. What is on the queue stays.
func (b *bench) restart(t testing.TB) {
	t.Helper()
	b.queue.Now, b.queue.Lose = b.now, atOnce
	lookup := tool.New(tool.Spec{Name: "lookup", Description: "Returns 2 KB that cannot be compressed."},
		func(ctx context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
			if b.sleeps > 0 && call.Resume == nil {
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: call.Now.Add(b.sleeps)}), nil
			}
			if b.helpAsks && call.Thread != theThread {
				return tool.Suspended(core.TicketRequest{Message: "May the agent use the tool lookup?"}), nil
			}
			if b.starts {
				return delegated(ctx, call)
			}
			if b.writes {
				if _, err := call.Send(ctx, tool.Message{Text: noise(500), Thread: otherThread.Thread}); err != nil {
					return tool.Result{}, err
				}
			}
			b.executed.Add(1)
			return tool.NewResult(noise(2048)), nil
		})
	none := 0
	spec := agent.Spec{ID: "demo", Model: "m", MaxRounds: &none, Plugins: []string{"asking"}, Context: &agent.ContextWindowPolicy{MaxContextTokens: 33_000, MaxOutputTokens: 1_000}}
	if b.window > 0 {
		spec.Context = &agent.ContextWindowPolicy{MaxContextTokens: b.window}
	}
	var err error
	b.Host, err = host.New(host.Options{
		Env: b.env(), Store: b.backend, Waker: &b.queue,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: b.model, Name: "m"}, "helper": {Model: b.helper(), Name: "helper"}},
			Tools:  []tool.Tool{lookup}, Plugins: []plugin.Plugin{asking{b}},
			Specs: []agent.Spec{spec, {ID: "helper", Model: "helper"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) now() time.Time { return noon.Add(time.Duration(b.clock.Load())) }

// env is the system's, except for the clock, the deadlines of that clock, and sleeps. A test
// may count sleeps. Otherwise long ones, before and between looks for a cancel, last until
// the test ends them: its clock does not advance by itself.
func (b *bench) env() *env.Env {
	e := env.System()
	e.Now = b.now
	if b.reach != nil {
		e.Reach = b.reach
	}
	e.Deadline = func(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, at.Sub(b.now()))
	}
	after := e.After
	e.After = func(d time.Duration, f func()) (stop func() bool) {
		if d >= time.Second {
			return func() bool { return true }
		}
		return after(d, f)
	}
	sleep := e.Sleep
	e.Sleep = func(ctx context.Context, d time.Duration) error {
		switch {
		case b.nap != nil:
			return b.nap(ctx, d)
		case d >= time.Second:
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return sleep(ctx, d)
	}
	return e
}

// atOnce loses the hints that have a delay.
func atOnce(_ core.WakeUp, delay time.Duration) bool { return delay > 0 }

// submit enqueues a run of so many user messages.
func (b *bench) submit(t testing.TB, messages int) mailbox.Receipt {
	t.Helper()
	return b.send(t, mailbox.Submission{Messages: slices.Repeat([]core.Message{core.UserMessage("go on")}, messages)})
}

func (b *bench) send(t testing.TB, s mailbox.Submission) mailbox.Receipt {
	t.Helper()
	s.Opening.AgentID = "demo"
	if s.Thread.Thread == "" {
		s.Thread = theThread
	}
	receipt, err := b.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// waiting reports whether a hint is on the queue.
func (b *bench) waiting() bool {
	return len(b.queue.Messages()) > 0
}

// step works the next hint, 10 s after the last.
func (b *bench) step(t testing.TB) {
	t.Helper()
	b.batch(t, 1)
}

// batch works the next hints as one delivery of the queue.
func (b *bench) batch(t testing.TB, n int) {
	t.Helper()
	hints := b.queue.Batch(n)
	if len(hints) < n {
		t.Fatalf("there are %d hints to work on, want %d", len(hints), n)
	}
	b.clock.Add(int64(10 * time.Second))
	for _, err := range b.WorkBatch(t.Context(), hints) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// longThread is a process whose thread has 10,000 messages of 2 KB already,
// which another one has made in memory with the same agents. One run more may
// be queued or open, with its hint on the queue.
func longThread(t testing.TB, talk chatter, make func(t testing.TB, b *bench)) *bench {
	t.Helper()
	maker := &bench{model: &talk}
	maker.backend = memory.New()
	maker.restart(t)
	make(t, maker)
	b := newBench(t, talk)
	b.clock.Store(maker.clock.Load())
	for _, m := range maker.queue.Messages() {
		_ = b.queue.Wake(t.Context(), m.Hint, 0)
	}
	b.copyFrom(t, maker.backend)
	return b
}

// copyFrom moves the thread to the table, its pointers apart. The meter sees
// the head, so that it knows what the index holds.
func (b *bench) copyFrom(t testing.TB, from store.Backend) {
	t.Helper()
	head, err := from.Head(t.Context(), theThread)
	if err != nil {
		t.Fatal(err)
	}
	var records []store.Record
	for after := ""; ; after = records[len(records)-1].Name {
		page, err := from.Records(t.Context(), theThread, "", after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if records = append(records, page...); len(page) < 1000 {
			break
		}
	}
	items, err := dynamo.Items(theThread, head, records)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(b.table), Item: items[0]}); err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(items[1:], 25) { // as many as a batch may have
		batch := make([]types.WriteRequest, len(some))
		for i, it := range some {
			batch[i].PutRequest = &types.PutRequest{Item: it}
		}
		out, err := b.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.table: batch}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			t.Fatalf("write %d items: %v, %d unprocessed", len(some), err, len(out.UnprocessedItems))
		}
	}
}

// chatter is a model that says text bytes and calls the tool as often as calls
// says.
type chatter struct {
	calls func(messages []core.Message) int
	text  int           // in bytes, after compression
	say   func() string // in place of text; nil: text
}

// Stream implements model.Model.
func (c *chatter) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	said := noise(c.text)
	if c.say != nil {
		said = c.say()
	}
	deltas := []model.Delta{{Type: model.DeltaText, Text: said}}
	calls := c.calls(request.Messages)
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

// always calls the tool so often in every turn.
func always(calls int) func([]core.Message) int {
	return func([]core.Message) int { return calls }
}

// first calls the tool once in each of a run's first turns.
func first(turns int) func([]core.Message) int {
	return func(messages []core.Message) int {
		said := 0
		for _, m := range slices.Backward(messages) {
			if m.Role == core.RoleUser {
				break
			}
			if m.Role == core.RoleAssistant {
				said++
			}
		}
		return min(1, max(0, turns-said))
	}
}

// everySecond calls the tool once in every second turn, whatever the input.
func everySecond() func([]core.Message) int {
	turns := 0
	return func([]core.Message) int {
		turns++
		return turns % 2
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
