//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// kind is one kind of event: its sample, and what is to come of it.
type kind struct{ sample, thread, asked, response string }

var kinds = []kind{
	{"dynamodb", "stock-lamp-3", "lamp-3 is sold out", `{"batchItemFailures":[]}`},
	{"eventbridge", "customer-c-17", "order o-4711 of 129.9", `null`},
	{"s3", "upload-in-annual-report--2026.pdf-c5af2a40fe9081dc", "in/annual report, 2026.pdf in acme-documents", `null`},
	{"schedule", "report", "report of 2026-11-23T07:00:00Z", `null`},
	{"sns", "alarm-checkout-errors-0e9eef704e67512c", "5 errors in a minute", `null`},
	{"sqs", "ticket-4242", "where is my order?", `{"batchItemFailures":[]}`},
	{"webhook", "issue-17", "The lamp flickers", ""}, // an HTTP response: see checkWebhooks
}

// An event of each kind that comes twice at once starts one run, in its thread, which
// asks a person. Who was told of it approves through the API, and the run ends. The
// receiver fails the first two tries of each end and is told once. The events come again
// while the runs wait and when they are over, and change nothing.
func TestAnEventOfEachKindStartsOneRunWhoseEndIsToldOnce(t *testing.T) {
	t.Parallel()
	w, to, api := newTold(t, askingTriggers(t))
	w.eachDelivered(t, false)
	runs := map[string]core.ID{}
	for _, k := range kinds {
		h := w.head(t, k.thread)
		if len(h.Pending) != 1 || h.Open() {
			t.Fatalf("after two deliveries the head of %s is %+v, want one run", k.thread, h)
		}
		runs[k.thread] = h.Pending[0].Run
	}

	w.stepUntilEach(t, "waits", func(h store.Head) bool { return len(h.Tickets) == 1 })
	for _, k := range kinds {
		to.check(t, "while the run waits", k.thread, []int{1}, k.waits())
	}
	w.eachDelivered(t, true)
	for _, k := range kinds {
		if h := w.head(t, k.thread); h.Run.ID != runs[k.thread] || len(h.Tickets) != 1 || len(h.Pending)+len(h.Inbox) != 0 || h.Claim.Fence != 0 {
			t.Errorf("the same event changed the thread %s that waits: %+v", k.thread, h)
		}
		approve(t, api, to, k.thread)
	}

	w.stepUntilEach(t, "is told of", func(h store.Head) bool { return !h.Open() && len(h.Outbox) == 0 })
	w.eachDelivered(t, true)
	if got := w.sweep(t); got != `{"woken":0}` {
		t.Errorf("when all is told the sweep returned %s", got)
	}
	for _, k := range kinds {
		if _, err := w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: k.thread, Sweep: true})); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kinds {
		to.check(t, "at last", k.thread, []int{1, 2, 2, 2}, k.waits(), "run.ended public/"+k.thread+" demo, 2 steps, missed 0: natural_end")
		w.checkOver(t, k, api, runs[k.thread])
	}
	if diff := cmp.Diff([]string{
		"T#public#alarm-checkout-errors-0e9eef704e67512c", "T#public#customer-c-17", "T#public#issue-17", "T#public#report",
		"T#public#stock-lamp-3", "T#public#ticket-4242", "T#public#upload-in-annual-report--2026.pdf-c5af2a40fe9081dc",
	}, w.threads(t)); diff != "" {
		t.Errorf("threads of the table (-want +got):\n%s", diff)
	}
}

// waits is what is told when the run of the event waits.
func (k kind) waits() string {
	return "run.waiting public/" + k.thread + " demo, 1 steps, missed 0 [danger person]"
}

// askingTriggers writes the triggers of the sample events to a file, with prompts that all
// make the scripted model call what a person must approve, and returns its path.
func askingTriggers(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../events/triggers.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), `"prompt": "echo: `, `"prompt": "approve: `)
	if n := strings.Count(text, `"prompt": "approve: `); n != len(kinds) {
		t.Fatalf("%d of %d triggers make a run that waits", n, len(kinds))
	}
	file := filepath.Join(t.TempDir(), "triggers.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// eachDelivered delivers the sample of each kind twice, all at once. Each has come before,
// or none.
func (w *world) eachDelivered(t *testing.T, before bool) {
	t.Helper()
	payloads := make([][2]string, len(kinds))
	var wait sync.WaitGroup
	for i, k := range kinds {
		event := sampleEvent(t, k.sample)
		for j := range 2 {
			wait.Go(func() {
				result, err := w.host.Invoke(t.Context(), "trigger", event)
				if err != nil {
					t.Errorf("%s: %v", k.sample, err)
				}
				payloads[i][j] = strings.TrimSpace(string(result.Payload))
			})
		}
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, k := range kinds {
		if k.sample == "webhook" {
			checkWebhooks(t, payloads[i][:], before)
		} else if payloads[i] != [2]string{k.response, k.response} {
			t.Errorf("%s: the function returned %q, want %s", k.sample, payloads[i], k.response)
		}
	}
}

// checkWebhooks fails unless the payloads are buffered 202s for thread issue-17, and all
// but one say that they are duplicates, or all when the event had come before.
func checkWebhooks(t *testing.T, payloads []string, before bool) {
	t.Helper()
	var duplicates []bool
	for _, payload := range payloads {
		var response struct {
			StatusCode int
			Body       string
		}
		var accepted struct {
			Runs []struct {
				Thread    string `json:"thread_id"`
				Duplicate bool
			}
		}
		if json.Unmarshal([]byte(payload), &response) != nil || json.Unmarshal([]byte(response.Body), &accepted) != nil ||
			response.StatusCode != http.StatusAccepted || len(accepted.Runs) != 1 || accepted.Runs[0].Thread != "issue-17" {
			t.Fatalf("webhook: the function returned %s, want a 202 for one run of thread issue-17", payload)
		}
		duplicates = append(duplicates, accepted.Runs[0].Duplicate)
	}
	if slices.Contains(duplicates, false) == before || !slices.Contains(duplicates, true) {
		t.Errorf("webhook: duplicates: %v", duplicates)
	}
}

// stepUntilEach hands batches to the step function until something is so of each kind's
// thread.
func (w *world) stepUntilEach(t *testing.T, what string, is func(store.Head) bool) {
	t.Helper()
	w.stepUntil(t, "each run "+what, func() bool {
		return !slices.ContainsFunc(kinds, func(k kind) bool { return !is(w.head(t, k.thread)) })
	})
}

// approve decides as the receiver's first announcement of a thread says.
func approve(t *testing.T, api string, to *receiver, id string) {
	t.Helper()
	_, taken := to.about(t, id)
	if len(taken) != 1 || len(taken[0].Data.Tickets) != 1 {
		t.Fatalf("of %s the receiver was told %v, want one ticket", id, taken)
	}
	asked := taken[0].Data
	response, err := http.Post(api+"/v1/runs/"+asked.Run+"/decision", "application/json",
		strings.NewReader(fmt.Sprintf(`{"suspension_id":%q,"action":"resume"}`, asked.Tickets[0].Suspension)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body := readAll(t, response.Body); response.StatusCode != http.StatusAccepted {
		t.Fatalf("%s: status %d: %s", id, response.StatusCode, body)
	}
}

// checkOver fails unless the run of an event is done, is the only one that its thread ever
// had, and nothing is left to do.
func (w *world) checkOver(t *testing.T, k kind, api string, run core.ID) {
	t.Helper()
	said := []string{"user: approve: " + k.asked, "assistant: ", fmt.Sprintf(`tool: {"text":%q,"executions":1}`, k.asked), "assistant: Done: " + k.asked}
	if diff := cmp.Diff(said, w.messages(t, k.thread)); diff != "" {
		t.Errorf("%s:\n%s", k.thread, diff)
	}
	if h := w.head(t, k.thread); h.Busy(0) || h.DueAt != 0 {
		t.Errorf("%s: something is open, queued or due at the end: %+v", k.thread, h)
	}
	records, err := w.store.Records(t.Context(), key(k.thread), "R#", "", 10)
	if err != nil || len(records) != 1 || records[0].Name != "R#"+run.String() {
		t.Errorf("%s: the run records are %v, %v; want that of %s alone", k.thread, records, err, run)
	}
	response, err := http.Get(api + "/v1/runs/" + run.String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var r core.Run
	body := readAll(t, response.Body)
	if json.Unmarshal([]byte(body), &r) != nil || r.ThreadID != k.thread || r.AgentID != "demo" || r.Status != core.RunDone || r.Termination == nil || r.Termination.Type != core.TerminationNatural {
		t.Errorf("%s: status %d: %s; want a run of demo that is done", k.thread, response.StatusCode, body)
	}
}

// threads lists the partitions of the table that are threads.
func (w *world) threads(t *testing.T) []string {
	t.Helper()
	tables, _ := clients(t)
	out, err := tables.Scan(t.Context(), &dynamodb.ScanInput{TableName: &w.table})
	if err != nil || out.LastEvaluatedKey != nil {
		t.Fatalf("the table is scanned up to %v, %v", out, err)
	}
	var all []string
	for _, item := range out.Items {
		if pk := item["pk"].(*types.AttributeValueMemberS).Value; strings.HasPrefix(pk, "T#") {
			all = append(all, pk)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
