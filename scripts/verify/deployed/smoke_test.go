//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// send posts JSON, or gets where there is none, and returns what comes.
func send(tb testing.TB, method, address, body string) (int, string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, address, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, readAll(tb, response.Body)
}

// ends waits until a thread has nothing left to do.
func (d *deployment) ends(tb testing.TB, id string) {
	tb.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if h := d.head(tb, id); h.Version > 0 && !h.Busy(0) && h.Claim.Fence == 0 {
			return
		}
	}
	tb.Fatalf("thread %s is not done: %+v", id, d.head(tb, id))
}

// TestTheTemplateWorks deploys template.yaml to the endpoints and uses it: make smoke on
// the door that streams, with a trigger behind the other; runs that are submitted, a
// person who approves, payloads that are objects, profiles, a schedule, dead wake-ups,
// deleted threads. What the functions called in doing so, each role must allow. A grant
// that nothing used stands in the list spare, with its reason, or is for nothing.
func TestTheTemplateWorks(t *testing.T) {
	t.Parallel()
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "StepTimeout": "60"})
	stop := d.poll(t)
	rest, http := d.door(t, "RestApi"), d.door(t, "HttpApi")
	smoke(t, rest, http)
	d.approves(t, rest, http)
	d.usesProfiles(t, rest, http)
	d.keepsObjects(t, rest, http)

	if _, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), sampleEvent(t, "schedule")); err != nil {
		t.Error(err)
	}
	d.ends(t, "report")
	for _, door := range []string{rest, http} {
		if status, body := send(t, "GET", door+"/v1/threads", ""); status != 200 || !strings.Contains(body, `"report"`) || strings.Contains(body, `"smoke-`) {
			t.Errorf("the threads are %d %s", status, body)
		}
	}
	for door, id := range map[string]string{rest: "report", http: "p1"} {
		if status, body := send(t, "DELETE", door+"/v1/threads/"+id, ""); status/100 != 2 {
			t.Errorf("the end of %s came to %d %s", id, status, body)
		}
	}
	stop()
	d.says(t, http, "t3", "hello") // nobody polls: the run has not begun, and Sweep wakes it again
	marked := d.marksUsage(t)
	d.dies(t, core.WakeUp{Tenant: tenant, Thread: "t3", Dispatch: d.head(t, "t3").Pending[0].ID})
	if left := d.marks(t); left >= marked {
		t.Errorf("%d hours are marked, and were %d before: Sweep has summed none", left, marked)
	}
	d.checkRoles(t)
}

// marksUsage records for a tenant of each shard that something was used in an hour that
// has passed, and returns how many hours are marked: Sweep has a shard for each minute.
func (d *deployment) marksUsage(t *testing.T) int {
	t.Helper()
	shards := map[int]bool{}
	for i := 0; len(shards) < store.Shards; i++ {
		of := core.ThreadKey{Tenant: fmt.Sprintf("shard%d", i), Thread: "t"}
		if shards[(store.UsageMark{Tenant: of.Tenant}).Shard()] {
			continue
		}
		shards[store.UsageMark{Tenant: of.Tenant}.Shard()] = true
		payload, err := core.EncodeJSON(struct {
			Schema int `json:"schema"`
			account.Record
		}{1, account.Record{Run: core.ID{1}, Since: 400_000 * time.Hour.Milliseconds()}})
		if err != nil {
			t.Fatal(err)
		}
		record := store.Record{Name: "U#" + core.ID{1}.String() + "#000000", Fence: 1, Version: 1, Payload: payload, Expires: time.Now().AddDate(100, 0, 0).Unix()}
		c := store.Commit{Usage: &store.Usage{Hour: 400_000, Record: record}, Head: store.Head{Layout: 1, Schema: 1, Version: 1, CommitID: core.ID{1}}}
		if _, err := d.store.Commit(t.Context(), of, c); err != nil {
			t.Fatal(err)
		}
	}
	return d.marks(t)
}

// marks is how many hours are marked.
func (d *deployment) marks(t *testing.T) (n int) {
	t.Helper()
	for shard := range store.Shards {
		marks, err := d.store.UsageMarks(t.Context(), shard, "", nil, 1000)
		if err != nil {
			t.Fatal(err)
		}
		n += len(marks)
	}
	return n
}

// smoke runs make smoke on the doors. The trigger is the webhook of the sample events.
func smoke(t *testing.T, rest, http string) {
	t.Helper()
	var request struct{ Body string }
	if err := json.Unmarshal(sampleEvent(t, "webhook"), &request); err != nil {
		t.Fatal(err)
	}
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(request.Body), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), build(t, "scripts/user/smoke", ""), "-url", rest,
		"-trigger", http+"/v1/triggers/issues", "-scheme", "github", "-header", "X-GitHub-Event: issues", "-event", event)
	c.Env = append(os.Environ(), "SMOKE_TRIGGER_SECRET=secret")
	report, err := c.CombinedOutput()
	if err != nil || strings.Count(string(report), "  ok\n") != 7 {
		t.Errorf("smoke: %v\n%s", err, report)
	}
}

// approves has a call wait on the door that streams, and decides it on the other.
func (d *deployment) approves(t *testing.T, rest, http string) {
	t.Helper()
	call := ""
	for _, c := range chunks(t, readAll(t, chat(t, rest, "t2", "approve: ship it").Body)) {
		if c.Type == "tool-approval-request" {
			call = c.ToolCallID
		}
	}
	for _, door := range []string{rest, http} {
		if status, body := send(t, "GET", door+"/v1/approvals", ""); status != 200 || call == "" || !strings.Contains(body, call) {
			t.Errorf("call %q waits, and a person is asked: %d %s", call, status, body)
		}
	}
	if status, body := send(t, "POST", http+"/v1/threads/t2/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","payload":{"approved":true}}`, call)); status != 202 {
		t.Errorf("the decision came to %d %s", status, body)
	}
	d.ends(t, "t2")
	want := []string{"user: approve: ship it", "assistant: ", `tool: {"text":"ship it","executions":1}`, "assistant: Done: ship it"}
	if diff := cmp.Diff(want, d.messages(t, "t2")); diff != "" {
		t.Error(diff)
	}
}

// usesProfiles has a tool use them in the function that streams, and in the one that steps.
func (d *deployment) usesProfiles(t *testing.T, rest, http string) {
	t.Helper()
	const ask = `call: profile {"note":"n"}`
	readAll(t, chat(t, rest, "p1", ask).Body)
	d.says(t, http, "p2", ask)
	for _, id := range []string{"p1", "p2"} {
		d.ends(t, id)
		if got := d.messages(t, id); len(got) < 3 || got[2] != `tool: {"read":"n","keys":1,"left":""}` {
			t.Errorf("the tool on %s: %q", id, got)
		}
	}
}

// says submits a message to the door that does not stream.
func (d *deployment) says(t *testing.T, http, id, text string) {
	t.Helper()
	if status, body := send(t, "POST", http+"/v1/threads/"+id+"/messages", fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, text)); status != 202 {
		t.Errorf("the submission came to %d %s", status, body)
	}
}

// keepsObjects has large payloads come by each door and a trigger, and the threads deleted.
func (d *deployment) keepsObjects(t *testing.T, rest, http string) {
	t.Helper()
	text := large()[:60<<10] // what a trigger's prompt may have
	readAll(t, chat(t, rest, "large-1", "echo: "+text).Body)
	d.says(t, http, "large-2", "echo: "+text)
	event := strings.ReplaceAll(string(sampleEvent(t, "sqs")), "where is my order?", text)
	for range 2 {
		if result, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), []byte(event)); err != nil || !strings.Contains(string(result.Payload), `"batchItemFailures":[]`) {
			t.Errorf("the large event came to %s, %v", result.Payload, err)
		}
		d.ends(t, "ticket-4242")
	}
	for _, id := range []string{"large-1", "large-2", "ticket-4242"} {
		d.ends(t, id)
		for _, door := range []string{rest, http} {
			if status, body := send(t, "GET", door+"/v1/threads/"+id+"/messages", ""); status != 200 || strings.Count(body, text) < 3 { // asked, returned, said
				t.Errorf("the messages of %s are %d and %d bytes", id, status, len(body))
			}
		}
	}
	if n := d.objects.keys(d.name(t, "Payloads")); n == 0 {
		t.Error("a large message is no object")
	}
	for _, id := range []string{"large-1", "large-2", "ticket-4242"} {
		if status, body := send(t, "DELETE", http+"/v1/threads/"+id, ""); status/100 != 2 {
			t.Errorf("the end of %s came to %d %s", id, status, body)
		}
	}
	for begin := time.Now(); d.objects.keys(d.name(t, "Payloads")) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("objects of a deleted thread are left")
		}
	}
}

// deadLetters is how many wake-ups die at once: more than a receive brings.
const deadLetters = 60

// dies puts wake-ups on the queue of dead ones, and sweeps, as the schedule does, until
// that queue is empty.
func (d *deployment) dies(t *testing.T, hint core.WakeUp) {
	t.Helper()
	_, queues := clients(t)
	address := os.Getenv("AWS_ENDPOINT_URL_SQS") + "/" + stack.Account + "/" + d.name(t, "DeadLetterQueue")
	if err := sqs.New(queues, address).WakeBatch(t.Context(), slices.Repeat([]core.WakeUp{hint}, deadLetters), 0); err != nil {
		t.Fatal(err)
	}
	for gone := 0; gone < deadLetters; {
		result, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`))
		if err != nil {
			t.Fatalf("the sweep returned %s, %v", result.Payload, err)
		}
		var swept struct{ Dead int }
		if err := json.Unmarshal(result.Payload, &swept); err != nil || swept.Dead == 0 {
			t.Fatalf("the sweep returned %s, %v; %d dead wake-ups of %d are gone", result.Payload, err, gone, deadLetters)
		}
		gone += swept.Dead
	}
	out, err := queues.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &address, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		t.Fatal(err)
	}
	if a := out.Attributes; a["ApproximateNumberOfMessages"] != "0" || a["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("the dead wake-ups are still there: %v", a)
	}
}
