//go:build aws

package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
)

// call makes a call of the service that must succeed.
func call(t *testing.T, b *publisher, name string, in any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.send(context.WithoutCancel(t.Context()), name, body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// queue makes a queue that lives as long as the test.
func queue(t *testing.T) (c *sqs.Client, url, arn string) {
	t.Helper()
	s, err := awsapi.Read(awsenv.Config{}, "SQS", "AWS_ENDPOINT_URL_SQS")
	if err != nil {
		t.Fatal(err)
	}
	c = sqs.New(sqs.Options{Region: s.Region, BaseEndpoint: s.BaseEndpoint, Credentials: s.Credentials, HTTPClient: s.HTTPClient})
	made, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(fmt.Sprintf("told-%d", time.Now().UnixNano()))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
			t.Error(err)
		}
	})
	of, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	return c, *made.QueueUrl, of.Attributes["QueueArn"]
}

// What is put on a bus comes to the target of a rule for it.
func TestEventReachesATarget(t *testing.T) {
	if os.Getenv("AWS_ENDPOINT_URL_EVENTBRIDGE") == "" {
		t.Skip("AWS_ENDPOINT_URL_EVENTBRIDGE is not set: this test needs an endpoint; make test-aws starts one and sets it")
	}
	name := fmt.Sprintf("runs-%d", time.Now().UnixNano())
	made, err := New(awsenv.Config{Timeout: 30 * time.Second}, nil, name) // the first event takes moto seconds on a busy machine
	if err != nil {
		t.Fatal(err)
	}
	b := made.(*publisher)
	c, url, arn := queue(t)
	bus := map[string]any{"EventBusName": name}
	call(t, b, "CreateEventBus", map[string]any{"Name": name})
	t.Cleanup(func() { call(t, b, "DeleteEventBus", map[string]any{"Name": name}) })
	call(t, b, "PutRule", map[string]any{"Name": "ends", "EventBusName": name, "EventPattern": `{"source":["reveille"],"detail-type":["run.ended"]}`})
	t.Cleanup(func() { call(t, b, "DeleteRule", map[string]any{"Name": "ends", "EventBusName": bus["EventBusName"]}) })
	call(t, b, "PutTargets", map[string]any{"Rule": "ends", "EventBusName": name, "Targets": []map[string]string{{"Id": "queue", "Arn": arn}}})
	t.Cleanup(func() {
		call(t, b, "RemoveTargets", map[string]any{"Rule": "ends", "EventBusName": name, "Ids": []string{"queue"}})
	})
	if err := b.Publish(t.Context(), announcement); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		got, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(url), WaitTimeSeconds: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Messages {
			var event struct {
				Source     string
				DetailType string `json:"detail-type"`
				Detail     json.RawMessage
			}
			if err := json.Unmarshal([]byte(*m.Body), &event); err != nil {
				t.Fatal(err)
			}
			var want, said any
			if json.Unmarshal([]byte(detail), &want) != nil || json.Unmarshal(event.Detail, &said) != nil {
				t.Fatalf("no JSON: %s", event.Detail)
			}
			if diff := cmp.Diff(want, said); diff != "" || event.Source != "reveille" || event.DetailType != "run.ended" {
				t.Errorf("event %s of %s, detail (-want +got):\n%s", event.DetailType, event.Source, diff)
			}
			return
		}
	}
	t.Error("no event came in 20 s")
}
