//go:build aws

package deployed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/tables"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// world is one deployment: two tables, a queue, and functions under the host.
type world struct {
	table, config, queueURL string
	store                   *dynamo.Store
	queue                   *sqs.Queue
	box                     *mailbox.Service
	host                    *host.Host
	report                  func(host.Report) // nil: nobody is told of invocations
	printed                 printed           // what the functions have printed
}

// tenant is what REVEILLE_AUTH=none makes of everybody.
const tenant = "public"

func key(id string) core.ThreadKey { return core.ThreadKey{Tenant: tenant, Thread: id} }

// clients reach the endpoints that the environment names.
func clients(tb testing.TB) (*dynamodb.Client, *awssqs.Client) {
	tb.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"} {
		if os.Getenv(name) == "" {
			tb.Fatalf("%s is not set: these tests need an endpoint; make test-aws starts one and sets it", name)
		}
	}
	table, err := dynamo.NewClient(awsenv.Config{Timeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	queue, err := sqs.NewClient(awsenv.Config{Timeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return table, queue
}

// newWorld makes the tables and the queue.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	return newWorldWith(tb, 0)
}

// newWorldWith is newWorld whose submissions are made with a lease; 0: the usual one.
func newWorldWith(tb testing.TB, lease time.Duration) *world {
	tb.Helper()
	client, queues := clients(tb)
	now := time.Now().UnixNano()
	w := &world{table: fmt.Sprintf("threads-%d", now), config: fmt.Sprintf("config-%d", now)}
	if err := tables.Create(tb.Context(), client, w.table, w.config); err != nil {
		tb.Fatal(err)
	}
	out, err := queues.CreateQueue(tb.Context(), &awssqs.CreateQueueInput{
		QueueName: aws.String(w.table), Attributes: map[string]string{"VisibilityTimeout": "3"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx := context.Background()
		_, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &w.table})
		_, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &w.config})
		_, _ = queues.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
	})
	w.queueURL = *out.QueueUrl
	w.store = dynamo.New(client, dynamo.Options{Table: w.table, ConfigTable: w.config})
	w.queue = sqs.New(queues, w.queueURL)
	w.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Lease: lease})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// function describes one of ours to the host.
func (w *world) function(name, bootstrap string, timeout time.Duration, variables ...string) host.Function {
	f := host.Function{Name: name, Bootstrap: bootstrap, Timeout: timeout, Env: []string{
		"REVEILLE_TABLE=" + w.table, "REVEILLE_CONFIG_TABLE=" + w.config, "REVEILLE_QUEUE_URL=" + w.queueURL, "REVEILLE_AUTH=none", "REVEILLE_LOG_LEVEL=error",
	}}
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		f.Env = append(f.Env, name+"="+os.Getenv(name))
	}
	f.Env = append(f.Env, variables...)
	return f
}

// run starts the host.
func (w *world) run(tb testing.TB, functions ...host.Function) {
	tb.Helper()
	h, err := host.New(host.Options{Logger: slog.New(slog.DiscardHandler), Output: &w.printed, Report: w.report}, functions...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := h.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("the functions printed:\n%s", w.printed.bytes())
		}
	})
	w.host = h
}

// printed is what functions have printed, which may be read while they print.
type printed struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.Write(b)
}

func (p *printed) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.all.Bytes())
}

// submit enqueues a text on a thread.
func (w *world) submit(tb testing.TB, id, text string) mailbox.Receipt {
	tb.Helper()
	receipt, err := w.box.Submit(tb.Context(), mailbox.Submission{
		Thread: key(id), Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text).WithID("m1")},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return receipt
}

func (w *world) head(tb testing.TB, id string) store.Head {
	tb.Helper()
	h, err := w.store.Head(tb.Context(), key(id))
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// messages lists who said what.
func (w *world) messages(tb testing.TB, id string) []string {
	tb.Helper()
	var lines []string
	for _, m := range w.log(tb, id) {
		lines = append(lines, string(m.Role)+": "+m.Text())
	}
	return lines
}

// log reads the messages of the thread's log.
func (w *world) log(tb testing.TB, id string) []core.Message {
	tb.Helper()
	messages, err := mailboxtest.Log(tb.Context(), w.store, key(id), w.head(tb, id).Seq)
	if err != nil {
		tb.Fatal(err)
	}
	return messages
}

// finish lets the event source mapping feed the step function until the thread
// has nothing left to do.
func (w *world) finish(tb testing.TB, id string) {
	tb.Helper()
	w.finishWith(tb, "step", id)
}

// finishWith is finish by another function.
func (w *world) finishWith(tb testing.TB, function, id string) {
	tb.Helper()
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: function, Wait: time.Second}
	for range 60 {
		if _, err := p.Poll(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		if h := w.head(tb, id); !h.Busy(0) && h.Claim.Fence == 0 {
			return
		}
	}
	tb.Fatalf("thread %s is not done: %+v", id, w.head(tb, id))
}

// take receives the one wake-up that must be on the queue, and keeps it there
// for nobody.
func (w *world) take(tb testing.TB) events.SQSMessage {
	tb.Helper()
	for range 10 {
		messages, err := w.queue.Receive(tb.Context(), 1, 2*time.Second)
		if err != nil {
			tb.Fatal(err)
		}
		if len(messages) == 1 {
			if err := w.queue.Delete(tb.Context(), []string{messages[0].ReceiptHandle}); err != nil {
				tb.Fatal(err)
			}
			return messages[0]
		}
	}
	tb.Fatal("no wake-up came")
	return events.SQSMessage{}
}

// transport is the queue as the host's poller wants it.
type transport struct{ *sqs.Queue }

func (q transport) Receive(ctx context.Context, limit int, wait time.Duration) ([]host.Message, error) {
	got, err := q.Queue.Receive(ctx, limit, wait)
	var messages []host.Message
	for _, m := range got {
		messages = append(messages, host.Message{ID: m.MessageId, Receipt: m.ReceiptHandle, Body: m.Body, Attributes: m.Attributes})
	}
	return messages, err
}

func (q transport) ChangeVisibility(ctx context.Context, receipts []string, d time.Duration) error {
	for _, r := range receipts {
		if err := q.Queue.ChangeVisibility(ctx, r, d); err != nil {
			return err
		}
	}
	return nil
}

func readAll(tb testing.TB, r io.Reader) string {
	tb.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
