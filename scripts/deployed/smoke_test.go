//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/sqs"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/deployed/stack"
)

// texts is a string or a list of strings.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *texts) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil {
		*l = texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

type document struct {
	Statement []struct {
		Effect           string
		Action, Resource texts
	}
}

// grants are what the function's role may do with tables, queues and the bucket, each as "ACTION
// RESOURCE".
func (d *deployment) grants(tb testing.TB, id string) []string {
	tb.Helper()
	role := d.name(tb, strings.TrimSuffix(id, "Function")+"Role")
	var documents []document
	for id, r := range properties[struct {
		Policies []struct{ PolicyDocument document }
	}](tb, d.stack, "AWS::IAM::Role") {
		for _, p := range r.Policies {
			if d.name(tb, id) == role {
				documents = append(documents, p.PolicyDocument)
			}
		}
	}
	for _, p := range properties[struct {
		Roles          []string
		PolicyDocument document
	}](tb, d.stack, "AWS::IAM::Policy") {
		if slices.Contains(p.Roles, role) {
			documents = append(documents, p.PolicyDocument)
		}
	}
	var all []string
	for _, p := range documents {
		for _, s := range p.Statement {
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					if s.Effect == "Allow" && (strings.HasPrefix(action, "dynamodb:") || strings.HasPrefix(action, "sqs:") || strings.HasPrefix(action, "s3:")) {
						all = append(all, action+" "+resource)
					}
				}
			}
		}
	}
	return all
}

// byMapping is what Lambda does itself with the function's role: it feeds the function
// from a queue, and puts what failed on another.
func (d *deployment) byMapping(tb testing.TB, id string) []string {
	tb.Helper()
	var all []string
	for _, m := range properties[mapping](tb, d.stack, "AWS::Lambda::EventSourceMapping") {
		if strings.Contains(m.FunctionName, ":"+d.name(tb, id)+":") {
			for _, action := range []string{"sqs:ReceiveMessage ", "sqs:DeleteMessage ", "sqs:GetQueueAttributes "} {
				all = append(all, action+m.EventSourceArn)
			}
		}
	}
	for _, c := range properties[struct {
		FunctionName      string
		DestinationConfig struct{ OnFailure struct{ Destination string } }
	}](tb, d.stack, "AWS::Lambda::EventInvokeConfig") {
		if c.FunctionName == d.name(tb, id) && c.DestinationConfig.OnFailure.Destination != "" {
			all = append(all, "sqs:SendMessage "+c.DestinationConfig.OnFailure.Destination)
		}
	}
	return all
}

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
		if h := d.head(tb, id); h.Version > 0 && !h.Busy() && h.Claim.Fence == 0 {
			return
		}
	}
	tb.Fatalf("thread %s is not done: %+v", id, d.head(tb, id))
}

// TestTheTemplateWorks deploys template.yaml to the endpoints and uses it: chats on the
// door that streams, runs that are submitted to the one that does not, a call that a
// person approves, a payload that
// is an object, a trigger, deleted threads, sweeps, dead wake-ups. What the
// functions called in doing so, each role must allow. A grant that nothing used is
// printed: it is for what this test does not do, or for nothing.
func TestTheTemplateWorks(t *testing.T) {
	d := deploy(t, map[string]string{"Auth": "none", "LogLevel": "error", "StepTimeout": "60"})
	d.poll(t)
	rest, http := d.door(t, "RestApi"), d.door(t, "HttpApi")

	if body := readAll(t, chat(t, rest, "t1", "echo: a").Body); !strings.Contains(body, `"finishReason":"stop"`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("the chat streamed\n%s", body)
	}
	call := ""
	for _, c := range chunks(t, readAll(t, chat(t, rest, "t2", "approve: ship it").Body)) {
		if c.Type == "tool-approval-request" {
			call = c.ToolCallID
		}
	}
	if status, body := send(t, "GET", http+"/v1/approvals", ""); status != 200 || call == "" || !strings.Contains(body, call) {
		t.Errorf("call %q waits, and a person is asked: %d %s", call, status, body)
	}
	if status, body := send(t, "POST", http+"/v1/threads/t2/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","payload":{"approved":true}}`, call)); status != 202 {
		t.Errorf("the decision came to %d %s", status, body)
	}
	d.ends(t, "t2")
	want := []string{"user: approve: ship it", "assistant: ", `tool: {"text":"ship it","executions":1}`, "assistant: Done: ship it"}
	if diff := cmp.Diff(want, d.messages(t, "t2")); diff != "" {
		t.Error(diff)
	}
	if status, body := send(t, "POST", http+"/v1/threads/t3/messages", `{"messages":[{"role":"user","content":"parallel: a, b"}]}`); status != 202 {
		t.Errorf("the submission came to %d %s", status, body)
	}
	d.ends(t, "t3")
	for _, door := range []string{rest, http} {
		if status, body := send(t, "GET", door+"/v1/threads", ""); status != 200 || !strings.Contains(body, `"t3"`) {
			t.Errorf("the threads are %d %s", status, body)
		}
	}

	if status, body := send(t, "POST", http+"/v1/threads/t4/messages", fmt.Sprintf(`{"messages":[{"role":"user","content":"echo: %s"}]}`, large())); status != 202 {
		t.Errorf("the large submission came to %d %s", status, body)
	}
	d.ends(t, "t4")
	if n := d.objects.keys(d.name(t, "Payloads")); n == 0 {
		t.Error("a large message is no object")
	}
	if status, body := send(t, "DELETE", http+"/v1/threads/t4", ""); status/100 != 2 {
		t.Errorf("the large thread's end came to %d %s", status, body)
	}
	for begin := time.Now(); d.objects.keys(d.name(t, "Payloads")) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("objects of a deleted thread are left")
		}
	}

	if _, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), sampleEvent(t, "schedule")); err != nil {
		t.Error(err)
	}
	d.ends(t, "report")
	if status, body := send(t, "DELETE", http+"/v1/threads/t1", ""); status/100 != 2 {
		t.Errorf("the thread's end came to %d %s", status, body)
	}
	d.dies(t, core.WakeUp{Tenant: tenant, Thread: "t3"})
	d.checkRoles(t)
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

// checkRoles compares what was called with what is allowed.
func (d *deployment) checkRoles(t *testing.T) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(d.calls)) {
		called := d.calls[id].all()
		if len(called) == 0 {
			t.Errorf("%s called nothing", id)
		}
		grants := d.grants(t, id)
		for _, c := range called {
			if !slices.Contains(grants, c) {
				t.Errorf("%s may not %s", id, c)
			}
		}
		used := append(called, d.byMapping(t, id)...)
		for _, g := range grants {
			if !slices.Contains(used, g) {
				t.Logf("%s: unused: %s", id, g)
			}
		}
	}
}
