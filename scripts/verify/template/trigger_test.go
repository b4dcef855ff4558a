package template

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core/mailbox"
)

// TestSamplesOfTriggers: each is of the type that aws-lambda-go has for it.
func TestSamplesOfTriggers(t *testing.T) {
	sample[events.EventBridgeEvent](t, "trigger-eventbridge.json")
	sample[events.S3Event](t, "trigger-s3.json")
	sample[events.SNSEvent](t, "trigger-sns.json")
	sample[events.DynamoDBEvent](t, "trigger-dynamodb.json")
	sample[events.APIGatewayV2HTTPRequest](t, "trigger-webhook.json")
	sample[struct{ Trigger, Time string }](t, "trigger-schedule.json")
	for _, m := range sample[events.SQSEvent](t, "trigger-sqs.json").Records {
		if sum := md5.Sum([]byte(m.Body)); m.Md5OfBody != hex.EncodeToString(sum[:]) {
			t.Errorf("message %s has another body than its checksum says", m.MessageId)
		}
	}
}

// agents are a runtime that keeps what is submitted.
type agents struct{ submitted []mailbox.Submission }

func (*agents) HasAgent(string) bool { return true }
func (*agents) DefaultAgent() string { return "demo" }
func (a *agents) Submit(_ context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	a.submitted = append(a.submitted, s)
	return mailbox.Receipt{ThreadID: s.Thread.Thread}, nil
}

// triggersOf makes a set of a file.
func triggersOf(t *testing.T, a *agents, names ...string) *rules.Set {
	t.Helper()
	set, err := rules.New(readText(t, names...), rules.Options{Runtime: a, Tenant: "acme", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestEachSampleIsForOneTrigger gives every sample to the function's handler with the
// triggers that stand beside them.
func TestEachSampleIsForOneTrigger(t *testing.T) {
	tests := []struct{ file, thread, prompt, key, request, response string }{
		{"trigger-eventbridge.json", "customer-c-17", "echo: order o-4711 of 129.9", "trigger:orders:7bf73129-1428-4cd3-a780-95db273d1602",
			`{"trigger":{"name":"orders","source":"eventbridge","event":"7bf73129-1428-4cd3-a780-95db273d1602"}}`, `null`},
		{"trigger-s3.json", "upload-in-annual-report--2026.pdf-c5af2a40fe9081dc", "echo: in/annual report, 2026.pdf in acme-documents",
			"trigger:uploads:ObjectCreated:Put acme-documents in/annual+report%2C+2026.pdf 0055AED6DCD90281E5",
			`{"trigger":{"name":"uploads","source":"s3","event":"ObjectCreated:Put acme-documents in/annual+report%2C+2026.pdf 0055AED6DCD90281E5"}}`, `null`},
		{"trigger-sns.json", "alarm-checkout-errors-0e9eef704e67512c", "approve: 5 errors in a minute", "trigger:alarms:95df01b4-ee98-5cb9-9903-4c221d41eb5e",
			`{"trigger":{"name":"alarms","source":"sns","event":"95df01b4-ee98-5cb9-9903-4c221d41eb5e"}}`, `null`},
		{"trigger-sqs.json", "ticket-4242", "echo: where is my order?", "trigger:tickets:d9144555-9a4f-4ec3-99a0-fc4e625a8db2",
			`{"trigger":{"name":"tickets","source":"sqs","event":"d9144555-9a4f-4ec3-99a0-fc4e625a8db2"}}`, `{"batchItemFailures":[]}`},
		{"trigger-dynamodb.json", "stock-lamp-3", "echo: lamp-3 is sold out", "trigger:stock:c4ca4238a0b923820dcc509a6f75849b",
			`{"trigger":{"name":"stock","source":"dynamodb","event":"c4ca4238a0b923820dcc509a6f75849b"}}`, `{"batchItemFailures":[]}`},
		{"trigger-schedule.json", "report", "echo: report of 2026-11-23T07:00:00Z", "trigger:report:2026-11-23T07:00:00Z",
			`{"trigger":{"name":"report","source":"schedule","event":"2026-11-23T07:00:00Z"}}`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			a := &agents{}
			handle := awslambda.Handlers{Logger: quiet}.Trigger(triggersOf(t, a, "events", "triggers.json"), nil)
			response, err := handle(t.Context(), json.RawMessage(readText(t, "events", tt.file)))
			encoded, encodeErr := json.Marshal(response)
			if err != nil || encodeErr != nil || string(encoded) != tt.response {
				t.Errorf("response %s, %v, %v; want %s", encoded, err, encodeErr, tt.response)
			}
			if len(a.submitted) != 1 {
				t.Fatalf("%d submissions, want 1", len(a.submitted))
			}
			s := a.submitted[0]
			got := []string{s.Thread.Tenant, s.Thread.Thread, s.Opening.AgentID, s.Messages[0].Text(), s.Key.Value, string(s.Opening.Request), fmt.Sprint(s.Origin, " ", s.Key.Alone)}
			if diff := cmp.Diff([]string{"acme", tt.thread, "demo", tt.prompt, tt.key, tt.request, "internal true"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheDeployedTriggersAreReadable: a user writes them; they must be a file of
// triggers whatever they are.
func TestTheDeployedTriggersAreReadable(t *testing.T) {
	triggersOf(t, &agents{}, "functions", "app", "triggers.json")
}

// TestTheSchedulesEventIsReadable fills the template's event in as Scheduler does.
func TestTheSchedulesEventIsReadable(t *testing.T) {
	text := `{"trigger":"report","time":"2022-03-22T18:59:43Z"}`
	got, err := awslambda.ReadEvents(json.RawMessage(text))
	if err != nil || len(got) != 1 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	want := []string{"schedule", "2022-03-22T18:59:43Z", "report", text}
	if diff := cmp.Diff(want, []string{string(got[0].Source), got[0].ID, got[0].Trigger, string(got[0].Data)}); diff != "" {
		t.Error(diff)
	}
}
