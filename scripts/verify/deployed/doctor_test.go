//go:build aws

package deployed

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// queueAddress is the address of one of the stack's queues.
func (d *deployment) queueAddress(t *testing.T, id string) string {
	t.Helper()
	return os.Getenv("AWS_ENDPOINT_URL_SQS") + "/" + stack.Account + "/" + d.name(t, id)
}

// emptyQueue takes all messages off the queue of wake-ups. Without a mapping that reads it,
// it keeps the hints of every invocation, and the doctor counts them.
func (d *deployment) emptyQueue(t *testing.T) {
	t.Helper()
	address := d.queueAddress(t, "Queue")
	_, queues := clients(t)
	if _, err := queues.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &address}); err != nil {
		t.Fatal(err)
	}
}

// invocations serves the call with which the doctor invokes a function.
func (d *deployment) invocations(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/functions/trigger-arn/invocations" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=") {
			t.Errorf("the doctor calls %s with %v", r.URL, r.Header)
		}
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		result, err := d.host.Invoke(r.Context(), d.name(t, "TriggerFunction"), payload)
		if err != nil { // as Lambda reports it
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
		_, _ = w.Write(result.Payload)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// examined runs the command on the deployment, and returns the lines that are not ok, up to
// their counts, and all that it prints.
func (d *deployment) examined(t *testing.T, lambda string, args ...string) (bad []string, text string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), build(t, "scripts/user/doctor", ""), append([]string{"-parked", d.queueAddress(t, "TriggerDeadLetterQueue"), "-trigger", "trigger-arn", "-yes"}, args...)...)
	c.Env = append(os.Environ(), "REVEILLE_TABLE="+d.table, "REVEILLE_CONFIG_TABLE="+d.config, "REVEILLE_QUEUE_URL="+d.queueAddress(t, "Queue"),
		"REVEILLE_DEAD_LETTER_QUEUE_URL="+d.queueAddress(t, "DeadLetterQueue"), "AWS_ENDPOINT_URL_LAMBDA="+lambda)
	out, err := c.CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^(warn|problem) +(\S+) +(\d+) `).FindAllStringSubmatch(string(out), -1) {
		bad = append(bad, strings.Join(m[1:], " "))
	}
	if len(args) == 0 && (err != nil) != strings.Contains(string(out), "\nproblem ") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	return bad, string(out)
}

// spoilsHead stores other bytes in the place of a thread's head, which is due since an hour.
func (d *deployment) spoilsHead(t *testing.T, id string) {
	t.Helper()
	client, _ := clients(t)
	name := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "T#" + tenant + "#" + id}, "sk": &types.AttributeValueMemberS{Value: "H"}}
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &d.table, Key: name})
	if err != nil {
		t.Fatal(err)
	}
	out.Item["h"] = &types.AttributeValueMemberB{Value: []byte("\x01damaged")}
	out.Item["g"] = &types.AttributeValueMemberN{Value: fmt.Sprint(store.Overdue{Key: key(id)}.Shard())}
	out.Item["d"] = &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-time.Hour).UnixMilli())}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.table, Item: out.Item}); err != nil {
		t.Fatal(err)
	}
}

// TestTheDoctorOfADeployment has a head damaged and events parked. The first worker
// quarantines the thread, after which nothing wakes it; clients cannot delete it, an operator
// can. Parked events are sent again, and start one run.
func TestTheDoctorOfADeployment(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "StepTimeout": "60"})
	d.poll(t)
	http, lambda := d.door(t, "HttpApi"), d.invocations(t)
	d.says(t, http, "t1", "echo: a")
	d.ends(t, "t1")
	if bad, text := d.examined(t, lambda); bad != nil {
		t.Fatalf("at first:\n%s", text)
	}

	d.spoilsHead(t, "t1")
	if bad, text := d.examined(t, lambda); !slices.Equal(bad, []string{"problem damaged 1"}) || !strings.Contains(text, ": public/t1. Remedy: ") {
		t.Errorf("with a damaged head:\n%s", text)
	}
	if status, body := send(t, "DELETE", http+"/v1/threads/t1", ""); status != 409 || !strings.Contains(body, `"code":"corrupt"`) || !strings.Contains(body, "thread t1 is damaged and cannot be used or deleted by a client") {
		t.Errorf("a client's delete: %d %s", status, body)
	}
	if result, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil || strings.TrimSpace(string(result.Payload)) != `{"woken":1}` {
		t.Fatalf("the sweep: %s, %v", result.Payload, err)
	}
	d.comes(t, "the worker quarantines it", func() bool {
		stored, err := d.store.StoredHead(t.Context(), key("t1"))
		return err == nil && stored.Quarantined != 0 && string(stored.Bytes) == "\x01damaged"
	})
	if result, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil || strings.TrimSpace(string(result.Payload)) != `{"woken":0}` {
		t.Errorf("the next sweep: %s, %v", result.Payload, err)
	}
	d.comes(t, "the queue is empty", func() bool {
		bad, text := d.examined(t, lambda)
		return slices.Equal(bad, []string{"problem quarantined 1"}) && strings.Contains(text, "ok      wake-ups         0  messages wait, 0 are in flight, 0 are delayed\n")
	})
	if status, body := send(t, "GET", http+"/v1/threads/t1", ""); status != 409 || !strings.Contains(body, "thread t1 is damaged and quarantined") {
		t.Errorf("a quarantined thread: %d %s", status, body)
	}
	if _, text := d.examined(t, lambda, "release", "t1"); !strings.Contains(text, "doctor: ") || !strings.Contains(text, "it was quarantined at ") {
		t.Errorf("release of a damaged head:\n%s", text)
	}
	if _, text := d.examined(t, lambda, "delete", "public/t1"); !strings.Contains(text, "public/t1 is deleted; workers erase its records\n") {
		t.Errorf("delete:\n%s", text)
	}
	if status, body := send(t, "GET", http+"/v1/threads/t1", ""); status != 410 {
		t.Errorf("the deleted thread: %d %s", status, body)
	}
	d.comes(t, "its records are erased", func() bool {
		_, ok, err := d.store.Get(t.Context(), key("t1"), store.LogName(1))
		return !ok && err == nil
	})
	d.parksEvents(t, lambda)
}

// parksEvents has an event parked as Lambda does it and as a schedule does it, and one that fails.
func (d *deployment) parksEvents(t *testing.T, lambda string) {
	t.Helper()
	_, queues := clients(t)
	address, event := d.queueAddress(t, "TriggerDeadLetterQueue"), string(sampleEvent(t, "schedule"))
	for _, body := range []string{event, `{"requestContext":{"condition":"RetriesExhausted"},"requestPayload":` + event + `}`, `{"requestPayload":{"a":1}}`} {
		if _, err := queues.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &address, MessageBody: aws.String(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if bad, text := d.examined(t, lambda); !slices.Equal(bad, []string{"problem parked-events 3"}) {
		t.Errorf("with parked events:\n%s", text)
	}
	if _, text := d.examined(t, lambda, "replay-events"); !strings.Contains(text, "2 events were sent again, 1 stay in the queue\n") || !strings.Contains(text, "doctor: some events failed again: see the log of Trigger\n") {
		t.Errorf("replay:\n%s", text)
	}
	d.ends(t, "report")
	if runs := strings.Count(strings.Join(d.messages(t, "report"), "\n"), "user: "); runs != 1 {
		t.Errorf("the event has started %d runs: %q", runs, d.messages(t, "report"))
	}
	if bad, text := d.examined(t, lambda); !slices.Equal(bad, []string{"problem parked-events 1"}) {
		t.Errorf("after the replay:\n%s", text)
	}
}

// comes waits for something.
func (d *deployment) comes(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("it never happens: %s", what)
		}
	}
}
