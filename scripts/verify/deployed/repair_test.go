//go:build aws

package deployed

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
)

// lose makes the world's mailbox one whose hints are lost and whose clock is
// behind: what it writes was written so long ago.
func (w *world) lose(tb testing.TB, ago time.Duration) {
	tb.Helper()
	past := env.System()
	past.Now = func() time.Time { return time.Now().Add(-ago) }
	box, err := mailbox.New(mailbox.Options{Env: past, Store: w.store, Waker: &mailboxtest.Queue{}})
	if err != nil {
		tb.Fatal(err)
	}
	w.box = box
}

// sweep invokes the sweep function as its schedule does, and returns its
// response.
func (w *world) sweep(tb testing.TB) string {
	tb.Helper()
	event, err := os.ReadFile("../../../events/sweep.json")
	if err != nil {
		tb.Fatal(err)
	}
	result, err := w.host.Invoke(tb.Context(), "sweep", event)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(result.Payload))
}

func TestTheSweepFindsWhatNobodyWoke(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, w *world)
		ago     time.Duration
		woken   string
	}{
		{"a hint that was lost", func(*testing.T, *world) {}, 4 * time.Minute, `{"woken":1}`},
		{"a worker that died", func(t *testing.T, w *world) {
			if _, claimed, err := w.box.Claim(t.Context(), core.WakeUp{Tenant: tenant, Thread: "t1"}, true); !claimed || err != nil {
				t.Fatalf("claimed %v, %v", claimed, err)
			}
		}, 4 * time.Minute, `{"woken":1}`},
		{"not before its grace is over", func(*testing.T, *world) {}, time.Minute, `{"woken":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(t,
				w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second),
				w.function("sweep", build(t, "functions/sweep", ""), 30*time.Second))
			w.lose(t, tt.ago)
			w.submit(t, "t1", "parallel: a, b")
			tt.prepare(t, w)
			if got := w.sweep(t); got != tt.woken {
				t.Fatalf("the sweep returned %s, want %s; the head is %+v", got, tt.woken, w.head(t, "t1"))
			}
			if tt.woken == `{"woken":0}` {
				return
			}
			w.finish(t, "t1")
			want := []string{"user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b"}
			if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
				t.Error(diff)
			}
			if got := w.sweep(t); got != `{"woken":0}` {
				t.Errorf("when all is done the sweep returned %s", got)
			}
		})
	}
}

// waiting counts the messages on the queue: those that can be received, and
// those that are held back.
func (w *world) waiting(tb testing.TB) (visible, delayed string) {
	tb.Helper()
	_, queues := clients(tb)
	out, err := queues.GetQueueAttributes(tb.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &w.queueURL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesDelayed"]
}

func TestADeadLetterOfUnfinishedWorkIsWokenAgain(t *testing.T) {
	w := newWorld(t)
	w.run(t, w.function("sweep", build(t, "functions/sweep", ""), 30*time.Second))
	w.lose(t, 0)
	receipt := w.submit(t, "t1", "echo: a")
	tests := []struct {
		name, thread, delayed string
	}{
		{"a thread with nothing to do", "t2", "0"},
		{"a thread with a queued run", "t1", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hint := core.WakeUp{Tenant: tenant, Thread: tt.thread, Dispatch: receipt.DispatchID}
			result, err := w.host.Invoke(t.Context(), "sweep", eventWith(t, "sweep-dlq.json", hint))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(result.Payload)); got != `{"batchItemFailures":[]}` {
				t.Errorf("the batch returned %s", got)
			}
			if visible, delayed := w.waiting(t); visible != "0" || delayed != tt.delayed {
				t.Errorf("%s messages are on the queue and %s come later, want 0 and %s", visible, delayed, tt.delayed)
			}
		})
	}
}
