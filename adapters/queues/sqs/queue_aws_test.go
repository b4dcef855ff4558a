//go:build aws

package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/core"
)

// client reaches the endpoint that the environment names.
func client(t *testing.T) *awssqs.Client {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL_SQS") == "" {
		t.Fatal("AWS_ENDPOINT_URL_SQS is not set: these tests need an endpoint; make test-aws starts one and sets it")
	}
	c, err := sqs.NewClient(awsenv.Config{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatalf("%v; make test-aws sets it", err)
	}
	return c
}

// create makes a queue that lives as long as the test.
func create(t *testing.T, c *awssqs.Client, attributes map[string]string) (*sqs.Queue, string) {
	t.Helper()
	out, err := c.CreateQueue(t.Context(), &awssqs.CreateQueueInput{
		QueueName:  aws.String(fmt.Sprintf("wake-%d", time.Now().UnixNano())),
		Attributes: attributes,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.DeleteQueue(context.Background(), &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
		var gone *types.QueueDoesNotExist
		if err != nil && !errors.As(err, &gone) { // gone: by a try whose answer was lost
			t.Error(err)
		}
	})
	return sqs.New(c, *out.QueueUrl), *out.QueueUrl
}

func hint(thread string) core.WakeUp {
	return core.WakeUp{Tenant: "acme", Thread: thread, Dispatch: core.ID{1}, Epoch: 1}
}

// receives is how often a message was received, about.
func receives(m events.SQSMessage) int {
	n, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	return n
}

// receive long-polls until a message comes: longer than the 30 s for which a receive
// whose answer was lost hides it from the next one.
func receive(t *testing.T, q *sqs.Queue) events.SQSMessage {
	t.Helper()
	for range 30 {
		messages, err := q.Receive(t.Context(), 1, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(messages) > 0 {
			return messages[0]
		}
	}
	t.Fatal("no message came in 60 s")
	return events.SQSMessage{}
}

func nothing(t *testing.T, q *sqs.Queue, why string) {
	t.Helper()
	messages, err := q.Receive(t.Context(), 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) > 0 {
		t.Errorf("received %s, want nothing: %s", messages[0].Body, why)
	}
}

func decode(t *testing.T, m events.SQSMessage) core.WakeUp {
	t.Helper()
	var w core.WakeUp
	if err := json.Unmarshal([]byte(m.Body), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestHintArrivesWithItsTenantAsGroup(t *testing.T) {
	q, _ := create(t, client(t), nil)
	if err := q.Wake(t.Context(), hint("t1"), 0); err != nil {
		t.Fatal(err)
	}
	m := receive(t, q)
	if diff := cmp.Diff(hint("t1"), decode(t, m)); diff != "" {
		t.Errorf("hint (-want +got):\n%s", diff)
	}
	if m.Attributes["MessageGroupId"] != "acme" || receives(m) < 1 { // more after a receive whose answer was lost
		t.Errorf("group %q, %d receives, want acme and at least 1", m.Attributes["MessageGroupId"], receives(m))
	}
	if err := q.Delete(t.Context(), []string{m.ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
}

func TestDelayedHintComesLater(t *testing.T) {
	q, _ := create(t, client(t), nil)
	start := time.Now()
	if err := q.Wake(t.Context(), hint("t1"), time.Second); err != nil {
		t.Fatal(err)
	}
	early, err := q.Receive(t.Context(), 1, 0)
	answered := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	if len(early) > 0 { // rightly, once the delay is over
		if answered < time.Second {
			t.Errorf("the hint came after %s, its delay of 1 s was not over", answered)
		}
		return
	}
	receive(t, q)
	if waited := time.Since(start); waited < 900*time.Millisecond {
		t.Errorf("the hint came after %s, want a delay of 1 s", waited)
	}
}

func TestHintThatIsNotDeletedComesAgain(t *testing.T) {
	q, _ := create(t, client(t), map[string]string{"VisibilityTimeout": "1"})
	if err := q.Wake(t.Context(), hint("t1"), 0); err != nil {
		t.Fatal(err)
	}
	first := receive(t, q)
	second := receive(t, q)
	if second.MessageId != first.MessageId || receives(second) <= receives(first) {
		t.Errorf("second delivery is message %s, received %d times, want message %s, more than %d times", second.MessageId, receives(second), first.MessageId, receives(first))
	}
}

func TestVisibilityCanBeChanged(t *testing.T) {
	q, _ := create(t, client(t), map[string]string{"VisibilityTimeout": "600"})
	if err := q.Wake(t.Context(), hint("t1"), 0); err != nil {
		t.Fatal(err)
	}
	m := receive(t, q)
	nothing(t, q, "it is hidden")
	if err := q.ChangeVisibility(t.Context(), m.ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	again := receive(t, q)
	if again.MessageId != m.MessageId {
		t.Errorf("received message %s, want %s", again.MessageId, m.MessageId)
	}
	if err := q.Delete(t.Context(), []string{again.ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	nothing(t, q, "it is deleted")
}

func TestHintIsMovedToTheDeadLetterQueue(t *testing.T) {
	c := client(t)
	dead, url := create(t, c, nil)
	attributes, err := c.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := json.Marshal(map[string]any{"deadLetterTargetArn": attributes.Attributes["QueueArn"], "maxReceiveCount": 2})
	if err != nil {
		t.Fatal(err)
	}
	q, _ := create(t, c, map[string]string{"VisibilityTimeout": "600", "RedrivePolicy": string(policy)})
	if err := q.Wake(t.Context(), hint("t1"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m := receive(t, q)
		if err := q.ChangeVisibility(t.Context(), m.ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
	}
	nothing(t, q, "it was received twice")
	if got := decode(t, receive(t, dead)); got != hint("t1") {
		t.Errorf("the dead-letter queue has %+v", got)
	}
}

func TestBatchArrivesWhole(t *testing.T) {
	q, _ := create(t, client(t), map[string]string{"VisibilityTimeout": "600"})
	var hints []core.WakeUp
	want := map[string]bool{}
	for i := range 23 {
		hints = append(hints, hint(fmt.Sprint("t", i)))
		want[hints[i].Thread] = true
	}
	if err := q.WakeBatch(t.Context(), hints, 0); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	var receipts []string
	for len(got) < len(want) {
		m := receive(t, q)
		got[decode(t, m).Thread] = true
		receipts = append(receipts, m.ReceiptHandle)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if err := q.Delete(t.Context(), receipts); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedReceiptIsReported(t *testing.T) {
	q, _ := create(t, client(t), nil)
	if err := q.Delete(t.Context(), []string{"forged"}); err == nil {
		t.Error("deleting a forged receipt is no error")
	}
}
