package sqs

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// service is an SQS whose responses the test decides.
type service struct {
	reply func(operation string, request map[string]any) reply

	mu       sync.Mutex
	requests []string // operation and body
}

type reply struct {
	status int // default 200
	body   string
	err    error
}

var (
	lost     = reply{err: os.ErrDeadlineExceeded}
	broken   = reply{status: 500, body: `{"__type":"com.amazonaws.sqs#InternalError"}`}
	throttle = reply{status: 400, body: `{"__type":"com.amazonaws.sqs#RequestThrottled"}`}
	noQueue  = reply{status: 400, body: `{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}`}
)

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var request map[string]any
	if err := json.Unmarshal(text, &request); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, operation+" "+string(text))
	next := s.reply(operation, request)
	if next.err != nil {
		return nil, next.err
	}
	if next.status == 0 {
		next.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: next.status,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(next.body)),
		Request:    r,
	}, nil
}

func queue(t *testing.T, replies func(operation string, request map[string]any) reply) (*Queue, *service) {
	t.Helper()
	s := &service{reply: replies}
	environment := map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
	client, err := NewClient(awsenv.Config{
		Getenv:    func(name string) string { return environment[name] },
		Transport: s,
		Backoff:   func(int) time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(client, "https://sqs.us-east-1.amazonaws.com/1/wake"), s
}

// inTurn gives the replies in order, the last one for ever.
func inTurn(replies ...reply) func(string, map[string]any) reply {
	return func(string, map[string]any) reply {
		next := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return next
	}
}

func sent(text string) reply {
	sum := md5.Sum([]byte(text))
	return reply{body: `{"MessageId":"1","MD5OfMessageBody":"` + hex.EncodeToString(sum[:]) + `"}`}
}

func TestWakeRequest(t *testing.T) {
	q, s := queue(t, inTurn(sent(body)))
	if err := q.Wake(context.Background(), hint, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(s.requests[0], " ")
	const want = `{"DelaySeconds":2,"MessageBody":"{\"tenant\":\"acme\",\"thread\":\"t1\",\"dispatch\":\"01935d00-0000-7000-8000-000000000001\",\"epoch\":3}","MessageGroupId":"acme","QueueUrl":"https://sqs.us-east-1.amazonaws.com/1/wake"}`
	var w, g map[string]any
	if err := errors.Join(json.Unmarshal([]byte(want), &w), json.Unmarshal([]byte(got), &g)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestDelayIsRoundedUpAndCut(t *testing.T) {
	tests := []struct {
		delay time.Duration
		want  int32
	}{
		{-time.Hour, 0}, {0, 0}, {1, 1}, {time.Second, 1}, {time.Second + 1, 2},
		{899*time.Second + 1, 900}, {15 * time.Minute, 900}, {15*time.Minute + 1, 900}, {24 * time.Hour, 900}, {1<<63 - 1, 900},
	}
	for _, tt := range tests {
		if got := delaySeconds(tt.delay); got != tt.want {
			t.Errorf("delaySeconds(%s) is %d, want %d", tt.delay, got, tt.want)
		}
	}
}

func TestWakeUnderFaults(t *testing.T) {
	tests := []struct {
		name    string
		replies []reply
		code    core.Code
		sends   int
	}{
		{"sent", []reply{sent(body)}, "", 1},
		{"no response, then sent", []reply{lost, sent(body)}, "", 2},
		{"5xx, then sent", []reply{broken, sent(body)}, "", 2},
		{"never a response", []reply{lost}, core.CodeUnavailable, 3},
		{"5xx for good", []reply{broken}, core.CodeUnavailable, 3},
		{"throttled for good", []reply{throttle}, core.CodeThrottled, 3},
		{"no such queue", []reply{noQueue}, core.CodeInternal, 1},
		{"a response that cannot be read", []reply{{body: `<html>`}}, core.CodeUnavailable, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, s := queue(t, inTurn(tt.replies...))
			err := q.Wake(context.Background(), hint, 0)
			if core.CodeOf(err) != tt.code || len(s.requests) != tt.sends {
				t.Errorf("error %v after %d requests, want code %q after %d", err, len(s.requests), tt.code, tt.sends)
			}
		})
	}
}

func TestInvalidHintIsNotSent(t *testing.T) {
	q, s := queue(t, inTurn(noQueue))
	if err := q.Wake(context.Background(), core.WakeUp{Tenant: "a#b", Thread: "t"}, 0); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("error %v, want code %q", err, core.CodeInvalid)
	}
	if len(s.requests) != 0 {
		t.Errorf("%d requests, want none", len(s.requests))
	}
}

// hints are n wake-ups of the threads t0, t1, ...
func hints(n int) []core.WakeUp {
	list := make([]core.WakeUp, n)
	for i := range list {
		list[i] = core.WakeUp{Tenant: "acme", Thread: fmt.Sprint("t", i)}
	}
	return list
}

// batches replies to batch requests: refused names the entry ids that fail, and
// how often; a sender's fault is marked with a minus sign in front of the count.
func batches(refused map[string]int) func(string, map[string]any) reply {
	return func(_ string, request map[string]any) reply {
		var batch struct{ Successful, Failed []map[string]any }
		for _, e := range request["Entries"].([]any) {
			entry := e.(map[string]any)
			id := entry["Id"].(string)
			if times := refused[id]; times != 0 {
				refused[id] = times - 1
				batch.Failed = append(batch.Failed, map[string]any{"Id": id, "Code": "InternalError", "Message": "no", "SenderFault": times < 0})
				continue
			}
			text, _ := entry["MessageBody"].(string)
			sum := md5.Sum([]byte(text))
			batch.Successful = append(batch.Successful, map[string]any{"Id": id, "MessageId": "m" + id, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		}
		text, err := json.Marshal(batch)
		return reply{body: string(text), err: err}
	}
}

func TestWakeBatchReportsItsItems(t *testing.T) {
	tests := []struct {
		name     string
		hints    []core.WakeUp
		refused  map[string]int
		failed   []int
		requests int
	}{
		{"none", nil, nil, nil, 0},
		{"ten", hints(10), nil, nil, 1},
		{"eleven", hints(11), nil, nil, 2},
		{"refused once, then taken", hints(12), map[string]int{"3": 1, "11": 1}, nil, 3},
		{"refused twice", hints(12), map[string]int{"3": 1, "11": 2}, []int{11}, 3},
		{"the sender's fault is final", hints(3), map[string]int{"1": -1}, []int{1}, 1},
		{"an invalid one does not stop the others", append(hints(2), core.WakeUp{}, hints(1)[0]), map[string]int{"0": 9}, []int{0, 2}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, s := queue(t, batches(tt.refused))
			err := q.WakeBatch(context.Background(), tt.hints, time.Second)
			if diff := cmp.Diff(tt.failed, indexes(err)); diff != "" || (err == nil) != (tt.failed == nil) {
				t.Errorf("error %v; failed (-want +got):\n%s", err, diff)
			}
			if len(s.requests) != tt.requests {
				t.Errorf("%d requests, want %d", len(s.requests), tt.requests)
			}
		})
	}
}

func indexes(err error) []int {
	var failed *batchFailure
	if !errors.As(err, &failed) {
		return nil
	}
	var list []int
	for _, f := range failed.Failures {
		list = append(list, f.Index)
	}
	return list
}

func TestLostBatchIsSentAgain(t *testing.T) {
	calls := 0
	works := batches(nil)
	q, _ := queue(t, func(operation string, request map[string]any) reply {
		if calls++; calls <= 3 { // the tries of the first batch
			return lost
		}
		return works(operation, request)
	})
	if err := q.WakeBatch(context.Background(), hints(15), 0); err != nil {
		t.Errorf("error %v, want none: the second round got a response", err)
	}
	if calls != 5 {
		t.Errorf("%d requests, want 5: 3 tries, the second batch, the first once more", calls)
	}

	q, _ = queue(t, inTurn(throttle))
	err := q.WakeBatch(context.Background(), hints(2), 0)
	if diff := cmp.Diff([]int{0, 1}, indexes(err)); diff != "" || core.CodeOf(err) != core.CodeThrottled {
		t.Errorf("error %v has code %q, want %q; failed (-want +got):\n%s", err, core.CodeOf(err), core.CodeThrottled, diff)
	}
}

func TestReceiveReadsAttributes(t *testing.T) {
	q, s := queue(t, inTurn(reply{body: `{"Messages":[{"MessageId":"m1","ReceiptHandle":"r1","Body":"b","MD5OfBody":"92eb5ffee6ae2fec3ad71c777531578f",
		"Attributes":{"ApproximateReceiveCount":"4","MessageGroupId":"acme","SentTimestamp":"1"}}]}`}, reply{body: `{}`}))
	got, err := q.Receive(context.Background(), 99, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := []events.SQSMessage{{MessageId: "m1", ReceiptHandle: "r1", Body: "b",
		Attributes: map[string]string{"ApproximateReceiveCount": "4", "MessageGroupId": "acme", "SentTimestamp": "1"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if !strings.Contains(s.requests[0], `"MaxNumberOfMessages":10`) || !strings.Contains(s.requests[0], `"WaitTimeSeconds":20`) {
		t.Errorf("request %s, want at most 10 messages in 20 s", s.requests[0])
	}
	if none, err := q.Receive(context.Background(), 1, 0); err != nil || len(none) != 0 {
		t.Errorf("an empty response is %v, %v", none, err)
	}
}

func TestDeleteReportsItsItems(t *testing.T) {
	q, s := queue(t, batches(map[string]int{"10": 9}))
	err := q.Delete(context.Background(), []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"})
	if diff := cmp.Diff([]int{10}, indexes(err)); diff != "" {
		t.Errorf("error %v; failed (-want +got):\n%s", err, diff)
	}
	const want = "delete wake-ups: 1 not done, the first at index 10: queue refuses: InternalError no"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if len(s.requests) != 3 {
		t.Errorf("%d requests, want 3", len(s.requests))
	}
}

func TestChangeVisibilityIsRoundedUpAndCut(t *testing.T) {
	tests := []struct {
		hidden time.Duration
		want   string
	}{
		{-1, `"VisibilityTimeout":0`}, {0, `"VisibilityTimeout":0`}, {1500 * time.Millisecond, `"VisibilityTimeout":2`}, {24 * time.Hour, `"VisibilityTimeout":43200`},
	}
	for _, tt := range tests {
		q, s := queue(t, inTurn(reply{body: `{}`}))
		if err := q.ChangeVisibility(context.Background(), "r", tt.hidden); err != nil || !strings.Contains(s.requests[0], tt.want) {
			t.Errorf("ChangeVisibility(%s): %v, request %s, want %s", tt.hidden, err, s.requests, tt.want)
		}
	}
	q, _ := queue(t, inTurn(throttle))
	if err := q.ChangeVisibility(context.Background(), "r", 0); core.CodeOf(err) != core.CodeThrottled {
		t.Errorf("error %v, want code %q", err, core.CodeThrottled)
	}
}

// TestReceiveWaitsLongerThanTheTimeout: the client's timeout is for a response,
// not for a message.
func TestReceiveWaitsLongerThanTheTimeout(t *testing.T) {
	client, err := NewClient(awsenv.Config{Getenv: func(string) string { return "http://x" }, Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options()
	longPoll(20)(&o)
	if got := o.HTTPClient.(*http.Client).Timeout; got != 23*time.Second {
		t.Errorf("timeout of a receive that waits 20 s is %s, want 23 s", got)
	}
	if got := client.Options().HTTPClient.(*http.Client).Timeout; got != 3*time.Second {
		t.Errorf("timeout of the client became %s, want 3 s", got)
	}
}

func TestWakeTwiceIsOneRequest(t *testing.T) {
	hint := core.WakeUp{Tenant: "acme", Thread: "t1", Epoch: 3}
	q, s := queue(t, batches(nil))
	meter := &store.Meter{Key: hint.Key()}
	if err := q.WakeTwice(meter.In(context.Background()), hint, 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	const entry = `"MessageBody":"{\"tenant\":\"acme\",\"thread\":\"t1\",\"dispatch\":\"\",\"epoch\":3}","MessageGroupId":"acme"}`
	if len(s.requests) != 1 || !strings.Contains(s.requests[0], `{"Id":"0",`+entry) || !strings.Contains(s.requests[0], `{"DelaySeconds":60,"Id":"1",`+entry) {
		t.Errorf("requests %s", s.requests)
	}
	if got, want := meter.Drain(), (core.Spent{Queue: 100}); got != want {
		t.Errorf("charged %+v, want %+v", got, want)
	}
	if err := q.WakeTwice(context.Background(), core.WakeUp{Tenant: "a#b", Thread: "t"}, 0, 0); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("error %v, want code %q", err, core.CodeInvalid)
	}
}
