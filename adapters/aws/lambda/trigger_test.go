package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

func TestReadEvents(t *testing.T) {
	tests := []struct {
		name, payload string
		want          []string // source, id, trigger, data
	}{
		{"EventBridge", `{"version":"0","id":"e1","detail-type":"a","source":"b","detail":null}`,
			[]string{`eventbridge|e1||{"version":"0","id":"e1","detail-type":"a","source":"b","detail":null}`}},
		{"a schedule", `{"trigger":"report","time":"2026-11-22T06:00:00+01:00"}`,
			[]string{`schedule|2026-11-22T05:00:00Z|report|{"trigger":"report","time":"2026-11-22T06:00:00+01:00"}`}},
		{"S3", `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"a+b%2Fc","sequencer":"01","size":1}}}]}`,
			[]string{`s3|ObjectCreated:Put b a+b%2Fc 01||{"eventName":"ObjectCreated:Put","eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"a+b%2Fc","sequencer":"01","size":1,"urlDecodedKey":"a b/c"}}}`}},
		{"SNS", `{"Records":[{"EventSource":"aws:sns","Sns":{"MessageId":"m1","Message":"{\"a\": 1}"}},{"EventSource":"aws:sns","Sns":{"MessageId":"m2","Message":"{\"a"}}]}`,
			[]string{`sns|m1||{"Message":{"a":1},"MessageId":"m1"}`, `sns|m2||{"Message":"{\"a","MessageId":"m2"}`}},
		{"SQS", `{"Records":[{"eventSource":"aws:sqs","messageId":"m1","body":" [1] "},{"eventSource":"aws:sqs","messageId":"m2","body":"12"},{"eventSource":"aws:sqs","messageId":"m3","body":""}]}`,
			[]string{
				`sqs|m1||{"body":[1],"eventSource":"aws:sqs","messageId":"m1"}`, `sqs|m2||{"body":"12","eventSource":"aws:sqs","messageId":"m2"}`,
				`sqs|m3||{"body":"","eventSource":"aws:sqs","messageId":"m3"}`,
			}},
		{"DynamoDB", `{"Records":[{"eventSource":"aws:dynamodb","eventID":"e1","dynamodb":{"SequenceNumber":"7","Keys":{"a":{"S":"<x>"}}}}]}`,
			[]string{`dynamodb|e1||{"dynamodb":{"SequenceNumber":"7","Keys":{"a":{"S":"<x>"}}},"eventID":"e1","eventSource":"aws:dynamodb"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := ReadEvents(json.RawMessage(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range all {
				got = append(got, fmt.Sprintf("%s|%s|%s|%s", e.Source, e.ID, e.Trigger, e.Data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPayloadsThatAreNoEvents(t *testing.T) {
	const known = `, known are an EventBridge event (version, id, detail-type, source, detail), Records of aws:s3, aws:sns, aws:sqs or aws:dynamodb, and {"trigger", "time"} of a schedule`
	tests := []struct{ name, payload, want string }{
		{"no JSON", `{`, "the event is not a JSON object" + known},
		{"null", `null`, "the event is not a JSON object" + known},
		{"a list", `[]`, "the event is not a JSON object" + known},
		{"no keys", `{}`, "the event has no keys" + known},
		{"other keys", `{"b":1,"a":2}`, "the event has the keys a, b" + known},
		{"more than a schedule's", `{"trigger":"a","time":"b","c":1}`, "the event has the keys c, time, trigger" + known},
		{"less than an EventBridge event's", `{"version":"0","id":"1","source":"b","detail":{}}`, "the event has the keys detail, id, source, version" + known},
		{"no records", `{"Records":[]}`, "Records must be a list of objects that is not empty" + known},
		{"records that are no objects", `{"Records":[1]}`, "Records must be a list of objects that is not empty" + known},
		{"another service's", `{"Records":[{"eventSource":"aws:kinesis"}]}`, `the event has records of source "aws:kinesis"` + known},
		{"nobody's", `{"Records":[null]}`, `the event has records of source ""` + known},
		{"of two sources", `{"Records":[{"eventSource":"aws:sqs","messageId":"m","body":""},{"eventSource":"aws:s3"}]}`, `Records[1] is of source "aws:s3", the first one of "aws:sqs"`},
		{"an event without id", `{"version":"0","id":"","detail-type":"a","source":"b","detail":{}}`, "id must be a text that is not empty"},
		{"a moment that is none", `{"trigger":"a","time":"today"}`, `time "today" is not of RFC 3339, such as 2026-11-22T05:00:00Z`},
		{"a trigger that is none", `{"trigger":"","time":"2026-11-22T05:00:00Z"}`, `trigger must be a text that is not empty`},
		{"S3 without object", `{"Records":[{"eventSource":"aws:s3","eventName":"a","s3":{"bucket":{"name":"b"}}}]}`, "Records[0]: object must be an object"},
		{"S3 without sequencer", `{"Records":[{"eventSource":"aws:s3","eventName":"a","s3":{"bucket":{"name":"b"},"object":{"key":"c"}}}]}`, "Records[0]: sequencer must be a text that is not empty"},
		{"S3 with a broken key", `{"Records":[{"eventSource":"aws:s3","eventName":"a","s3":{"bucket":{"name":"b"},"object":{"key":"%zz","sequencer":"1"}}}]}`, `Records[0]: key "%zz": invalid URL escape "%zz"`},
		{"SNS without id", `{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"x"}}]}`, "Records[0]: MessageId must be a text that is not empty"},
		{"SQS without body", `{"Records":[{"eventSource":"aws:sqs","messageId":"m"}]}`, "Records[0]: body is missing"},
		{"DynamoDB without number", `{"Records":[{"eventSource":"aws:dynamodb","eventID":"e","dynamodb":{}}]}`, "Records[0]: SequenceNumber must be a text that is not empty"},
		{"DynamoDB without id", `{"Records":[{"eventSource":"aws:dynamodb","dynamodb":{"SequenceNumber":"1"}}]}`, "Records[0]: eventID must be a text that is not empty"},
	}
	for _, tt := range tests {
		if _, err := ReadEvents(json.RawMessage(tt.payload)); err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// firer takes events by what their data says: "bad" fails, "none" is nobody's, "again"
// a duplicate, "panic" panics; anything else starts a run.
type firer struct{ seen []string }

func (f *firer) Fire(_ context.Context, e incoming.Event) ([]mailbox.Receipt, error) {
	f.seen = append(f.seen, e.ID)
	switch data := string(e.Data); {
	case strings.Contains(data, "bad"):
		return nil, errors.New("it is bad")
	case strings.Contains(data, "panic"):
		panic("it is worse")
	case strings.Contains(data, "none"):
		return nil, nil
	case strings.Contains(data, "again"):
		return []mailbox.Receipt{{Duplicate: true}}, nil
	}
	return []mailbox.Receipt{{}}, nil
}

// invoke returns the response, the failure and the log's last line of a payload.
func invoke(t *testing.T, f *firer, payload string) (response, failure, line string) {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	got, err := Handlers{Logger: logger}.Trigger(f, nil)(t.Context(), json.RawMessage(payload))
	encoded, encodeErr := json.Marshal(got)
	if encodeErr != nil {
		t.Fatal(encodeErr)
	}
	if err != nil {
		failure = err.Error()
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	return string(encoded), failure, lines[len(lines)-1]
}

func TestWhatBecomesOfABatch(t *testing.T) {
	message := func(id, body, more string) string {
		return fmt.Sprintf(`{"eventSource":"aws:sqs","messageId":%q,"body":%q%s}`, id, body, more)
	}
	fifo := func(id, body, group string) string {
		return message(id, body, fmt.Sprintf(`,"eventSourceARN":"arn:aws:sqs:us-east-1:1:orders.fifo","attributes":{"MessageGroupId":%q}`, group))
	}
	fair := func(id, body, group string) string {
		return message(id, body, fmt.Sprintf(`,"eventSourceARN":"arn:aws:sqs:us-east-1:1:orders","attributes":{"MessageGroupId":%q}`, group))
	}
	change := func(id, data string) string {
		return fmt.Sprintf(`{"eventSource":"aws:dynamodb","eventID":%q,"dynamodb":{"SequenceNumber":"n%s","Keys":%q}}`, id, id, data)
	}
	sns := func(id, text string) string {
		return fmt.Sprintf(`{"EventSource":"aws:sns","Sns":{"MessageId":%q,"Message":%q}}`, id, text)
	}
	tests := []struct {
		name, records           string
		seen                    []string
		response, failure, line string
	}{
		{"messages fail alone", message("1", "x", "") + "," + message("2", "bad", "") + "," + message("3", "again", "") + "," + message("4", "none", "") + "," + message("5", "panic", "") + `,{"eventSource":"aws:sqs","messageId":"6"}`,
			[]string{"1", "2", "3", "4", "5"}, `{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"5"},{"itemIdentifier":"6"}]}`, "",
			"level=WARN msg=events source=sqs events=6 started=1 duplicates=1 ignored=1 failed=3"},
		{"a FIFO queue's messages keep the order of their group", fifo("1", "x", "a") + "," + fifo("2", "bad", "a") + "," + fifo("3", "x", "b") + "," + fifo("4", "x", "a"),
			[]string{"1", "2", "3"}, `{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"4"}]}`, "",
			"level=WARN msg=events source=sqs events=4 started=2 duplicates=0 ignored=0 failed=2"},
		{"a fair queue has groups without order", fair("1", "bad", "a") + "," + fair("2", "x", "a"),
			[]string{"1", "2"}, `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, "",
			"level=WARN msg=events source=sqs events=2 started=1 duplicates=0 ignored=0 failed=1"},
		{"of a stream everything behind a failure comes again", change("1", "x") + "," + change("2", "bad") + "," + change("3", "x"),
			[]string{"1", "2"}, `{"batchItemFailures":[{"itemIdentifier":"n2"}]}`, "",
			"level=WARN msg=events source=dynamodb events=3 started=1 duplicates=0 ignored=0 failed=1"},
		{"a stream without failure", change("1", "x") + "," + change("2", "none"),
			[]string{"1", "2"}, `{"batchItemFailures":[]}`, "",
			"level=INFO msg=events source=dynamodb events=2 started=1 duplicates=0 ignored=1 failed=0"},
		{"notifications fail together, each tried", sns("1", "bad") + "," + sns("2", "x"),
			[]string{"1", "2"}, `null`, "event 1 of sns: it is bad",
			"level=WARN msg=events source=sns events=2 started=1 duplicates=0 ignored=0 failed=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &firer{}
			response, failure, line := invoke(t, f, `{"Records":[`+tt.records+`]}`)
			if response != tt.response || failure != tt.failure || line != tt.line {
				t.Errorf("response %s, failure %q, line %s; want\n%s, %q, %s", response, failure, line, tt.response, tt.failure, tt.line)
			}
			if diff := cmp.Diff(tt.seen, f.seen); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, failure, line := invoke(t, &firer{}, `{"a":1}`); !strings.HasPrefix(failure, "the event has the keys a, ") || !strings.HasPrefix(line, `level=ERROR msg="unknown event"`) {
		t.Errorf("a payload of no shape: %q, %s", failure, line)
	}
}

func TestWebhooksAreServed(t *testing.T) {
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.URL.Path) })
	payload, err := os.ReadFile("../../../events/trigger-webhook.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Handlers{Logger: quiet}.Trigger(&firer{}, routes)(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	if r := got.(events.APIGatewayV2HTTPResponse); r.StatusCode != 200 || r.Body != "POST /v1/triggers/issues" {
		t.Errorf("response %d: %s", r.StatusCode, r.Body)
	}
	if _, err := (Handlers{Logger: quiet}).Trigger(&firer{}, nil)(t.Context(), payload); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("without routes: %v", err)
	}
}

func FuzzEvents(f *testing.F) {
	names, err := filepath.Glob("../../../events/trigger-*.json")
	if err != nil || len(names) < 6 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		all, err := ReadEvents(payload)
		if err != nil && core.CodeOf(err) != core.CodeInvalid {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.ID == "" || e.Source == "" || !json.Valid(e.Data) || e.Source == incoming.Schedule != (e.Trigger != "") {
				t.Errorf("event %+v", e)
			}
		}
		_, _ = Handlers{Logger: quiet}.Trigger(&firer{}, nil)(t.Context(), payload)
	})
}
