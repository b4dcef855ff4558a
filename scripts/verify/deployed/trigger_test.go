//go:build aws

package deployed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// triggered describes the trigger function to the host, with the triggers of a file.
func (w *world) triggered(t *testing.T, triggers string) host.Function {
	t.Helper()
	file, err := filepath.Abs(triggers)
	if err != nil {
		t.Fatal(err)
	}
	return w.function("trigger", build(t, "scripts/verify/deployed/trigger", ""), 30*time.Second, "REVEILLE_TRIGGERS="+file, "WEBHOOK_SECRET=secret",
		"AWS_ENDPOINT_URL_DYNAMODB="+inTurn(t)) // an event comes twice at once
}

func sampleEvent(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../events/trigger-" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What Lambda repeats, and gives to the function's destination in the end, is an
// invocation that failed.
func TestAPoisonEventFailsItsInvocation(t *testing.T) {
	w := newWorld(t)
	w.run(t, w.triggered(t, "../../../events/triggers.json"))
	tests := []struct{ name, event, want string }{
		{"no event", `{"a":1}`, "the event has the keys a, known are an EventBridge event"},
		{"an event without what the prompt needs", strings.Replace(string(sampleEvent(t, "eventbridge")), `"order"`, `"number"`, 1), `trigger orders: prompt: template: prompt:1:21`},
		{"a trigger that there is none of", `{"trigger":"weekly","time":"2026-11-23T07:00:00Z"}`, `no trigger \"weekly\" of source schedule`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.host.Invoke(t.Context(), "trigger", []byte(tt.event))
			var failed *host.FunctionError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), strings.ReplaceAll(tt.want, `\"`, `"`)) {
				t.Errorf("the invocation returned %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := w.host.Invoke(t.Context(), "trigger", []byte(strings.Replace(string(sampleEvent(t, "eventbridge")), "129.9", "12", 1))); err != nil {
		t.Errorf("an event that no trigger wants: %v", err)
	}
}

// A queue of tickets with a redrive policy, one of whose messages no trigger can take.
func TestAPoisonMessageGoesToTheDeadLetterQueue(t *testing.T) {
	w := newWorld(t)
	w.run(t, w.triggered(t, "../../../events/triggers.json"), w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second))
	_, queues := clients(t)
	create := func(name string, attributes map[string]string) string {
		t.Helper()
		out, err := queues.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(w.table + name), Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		return *out.QueueUrl
	}
	dead := create("-dead", nil)
	attributes, err := queues.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	tickets := create("-tickets", map[string]string{
		"VisibilityTimeout": "1", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"2"}`, attributes.Attributes["QueueArn"]),
	})
	const poison = `{"ticket":"13"}`
	for _, body := range []string{poison, `{"ticket":"12","text":"hello"}`} {
		if _, err := queues.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &tickets, MessageBody: aws.String(body)}); err != nil {
			t.Fatal(err)
		}
	}
	p := host.Poller{Host: w.host, Queue: transport{sqs.New(queues, tickets)}, Function: "trigger", Wait: time.Second}
	letters := sqs.New(queues, dead)
	for range 20 {
		if _, err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := letters.Receive(t.Context(), 10, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Body != poison {
			t.Errorf("the dead letters are %+v", got)
		}
		w.finish(t, "ticket-12")
		if diff := cmp.Diff([]string{"user: echo: hello", "assistant: ", `tool: {"text":"hello"}`, "assistant: Echo: hello"}, w.messages(t, "ticket-12")); diff != "" {
			t.Error(diff)
		}
		if h := w.head(t, "ticket-13"); h.Exists() {
			t.Errorf("the poison message has a thread: %+v", h)
		}
		return
	}
	t.Error("no dead letter came")
}
