package template

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/core"
)

// sample reads an event of the repository into the type that aws-lambda-go has
// for it; a field that the type does not know fails the test.
func sample[T any](t *testing.T, name string) T {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(readText(t, "events", name))))
	d.DisallowUnknownFields()
	var event T
	if err := d.Decode(&event); err != nil {
		t.Fatalf("events/%s: %v", name, err)
	}
	return event
}

func TestEverySampleIsTested(t *testing.T) {
	entries, err := os.ReadDir(path("events"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			got = append(got, e.Name())
		}
	}
	want := []string{"api.json", "step.json", "stream-rest.json", "stream-url.json", "sweep-dlq.json", "sweep.json",
		"trigger-dynamodb.json", "trigger-eventbridge.json", "trigger-s3.json", "trigger-schedule.json", "trigger-sns.json", "trigger-sqs.json", "trigger-webhook.json", "triggers.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func id(t *testing.T, text string) core.ID {
	t.Helper()
	id, err := core.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// workFunc is a Worker and an Unfinished.
type workFunc func(core.WakeUp)

func (f workFunc) WorkBatch(_ context.Context, hints []core.WakeUp) []error {
	for _, hint := range hints {
		f(hint)
	}
	return make([]error, len(hints))
}

func (f workFunc) Rewake(_ context.Context, w core.WakeUp) (bool, error) {
	f(w)
	return true, nil
}

func TestBatches(t *testing.T) {
	tests := []struct {
		file    string
		source  string
		handler func(workFunc) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
		want    []core.WakeUp
	}{
		{"step.json", "arn:aws:sqs:us-east-1:123456789012:reveille-Queue-1A2B3C4D5E6F", func(f workFunc) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return awslambda.Handlers{Logger: quiet}.Step(f.WorkBatch)
		}, []core.WakeUp{
			{Tenant: "default", Thread: "t1", Dispatch: id(t, "01938a5e-7b4c-7def-8123-456789abcdef"), Epoch: 3},
			{Tenant: "default", Thread: "t2", Dispatch: id(t, "01938a5e-7b4d-7def-8123-456789abcdf0"), Epoch: 1},
		}},
		{"sweep-dlq.json", "arn:aws:sqs:us-east-1:123456789012:reveille-DeadLetterQueue-6F5E4D3C2B1A", func(f workFunc) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return awslambda.Handlers{Logger: quiet}.DeadLetters(f.Rewake)
		}, []core.WakeUp{
			{Tenant: "default", Thread: "t3", Dispatch: id(t, "01938a5e-7b4e-7def-8123-456789abcdf1"), Epoch: 2},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			event := sample[events.SQSEvent](t, tt.file)
			var bodies []core.WakeUp
			for _, m := range event.Records {
				var w core.WakeUp
				if err := json.Unmarshal([]byte(m.Body), &w); err != nil {
					t.Fatal(err)
				}
				if again, err := json.Marshal(w); err != nil || string(again) != m.Body {
					t.Errorf("message %s has the body %s, the queue's would be %s", m.MessageId, m.Body, again)
				}
				bodies = append(bodies, w)
				sum := md5.Sum([]byte(m.Body))
				if m.Md5OfBody != hex.EncodeToString(sum[:]) {
					t.Errorf("message %s has another body than its checksum says", m.MessageId)
				}
				if m.EventSource != "aws:sqs" || m.EventSourceARN != tt.source || m.Attributes["MessageGroupId"] != w.Tenant {
					t.Errorf("message %s is of %s %s, group %q", m.MessageId, m.EventSource, m.EventSourceARN, m.Attributes["MessageGroupId"])
				}
			}
			if diff := cmp.Diff(tt.want, bodies); diff != "" {
				t.Error(diff)
			}

			worked := make(chan core.WakeUp, len(event.Records))
			response, err := tt.handler(func(w core.WakeUp) { worked <- w })(t.Context(), event)
			if err != nil || len(response.BatchItemFailures) > 0 {
				t.Errorf("response %v, %v", response, err)
			}
			close(worked)
			var got []core.WakeUp
			for w := range worked {
				got = append(got, w)
			}
			slices.SortFunc(got, func(a, b core.WakeUp) int { return bytes.Compare(a.Dispatch[:], b.Dispatch[:]) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScheduledSweep(t *testing.T) {
	event := sample[events.EventBridgeEvent](t, "sweep.json")
	if event.Source != "aws.scheduler" || event.DetailType != "Scheduled Event" || !event.Time.Equal(time.Date(2026, 11, 21, 4, 13, 0, 0, time.UTC)) {
		t.Errorf("event is %+v", event)
	}
	// The function tells its two events apart by their records.
	var batch events.SQSEvent
	if err := json.Unmarshal([]byte(readText(t, "events", "sweep.json")), &batch); err != nil || len(batch.Records) != 0 {
		t.Errorf("as a batch it has %d records, %v", len(batch.Records), err)
	}
	handle := awslambda.Handlers{Logger: quiet}.Sweep(func(context.Context) (int, error) { return 2, nil }, nil, nil)
	got, err := handle(t.Context(), json.RawMessage(readText(t, "events", "sweep.json")))
	if encoded, _ := json.Marshal(got); err != nil || string(encoded) != `{"woken":2}` {
		t.Errorf("response %s, %v", encoded, err)
	}
}
