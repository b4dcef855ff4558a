package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// newWire returns a queue whose server records the calls and replies what the
// operation's name maps to.
func newWire(t *testing.T, replies map[string]string) (queue, func() []string) {
	t.Helper()
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
		calls = append(calls, operation+" "+string(body))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, replies[operation])
	}))
	t.Cleanup(server.Close)
	environ := []string{"AWS_ENDPOINT_URL_SQS=" + server.URL, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	return newQueue(environ, server.URL+"/1/q"), func() []string {
		for i := range calls {
			calls[i] = strings.ReplaceAll(calls[i], server.URL, "")
		}
		return calls
	}
}

func TestQueueReceives(t *testing.T) {
	q, calls := newWire(t, map[string]string{
		"ReceiveMessage": `{"Messages":[{"MessageId":"m1","ReceiptHandle":"r1","Body":"hello","Attributes":{"ApproximateReceiveCount":"2"}}]}`,
	})
	got, err := q.Receive(t.Context(), 100, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	want := []host.Message{{ID: "m1", Receipt: "r1", Body: "hello", Attributes: map[string]string{"ApproximateReceiveCount": "2"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantCalls := []string{`ReceiveMessage {"MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"],"QueueUrl":"/1/q","WaitTimeSeconds":20}`}
	if diff := cmp.Diff(wantCalls, calls()); diff != "" {
		t.Error(diff)
	}
}

func TestQueueWritesInBatchesOfTen(t *testing.T) {
	q, calls := newWire(t, map[string]string{
		"DeleteMessageBatch":           `{"Successful":[],"Failed":[]}`,
		"ChangeMessageVisibilityBatch": `{"Successful":[],"Failed":[{"Id":"0","Code":"ReceiptHandleIsInvalid","Message":"gone","SenderFault":true}]}`,
	})
	if err := q.Delete(t.Context(), strings.Split("abcdefghijkl", "")); err != nil {
		t.Fatal(err)
	}
	err := q.ChangeVisibility(t.Context(), []string{"r1"}, 3*time.Second)
	if err == nil || err.Error() != "entry 0: ReceiptHandleIsInvalid: gone" {
		t.Errorf("error = %v", err)
	}
	got := calls()
	if len(got) != 3 || got[2] != `ChangeMessageVisibilityBatch {"Entries":[{"Id":"0","ReceiptHandle":"r1","VisibilityTimeout":3}],"QueueUrl":"/1/q"}` {
		t.Fatalf("calls = %q", got)
	}
	var second struct {
		Entries []struct{ ReceiptHandle string }
	}
	_, body, _ := strings.Cut(got[1], " ")
	if err := json.Unmarshal([]byte(body), &second); err != nil || len(second.Entries) != 2 || second.Entries[0].ReceiptHandle != "k" {
		t.Errorf("second batch = %s, %v", body, err)
	}
}
