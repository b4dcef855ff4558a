//go:build aws

package deployed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// eventFor is the sample event of the step function with another wake-up in it.
func eventFor(t *testing.T, hint core.WakeUp) []byte {
	t.Helper()
	return eventWith(t, "step.json", hint)
}

// eventWith is a sample event of a queue with another wake-up in it.
func eventWith(t *testing.T, sample string, hint core.WakeUp) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../events/" + sample)
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Records []map[string]any }
	if err := json.Unmarshal(b, &event); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(hint)
	if err != nil {
		t.Fatal(err)
	}
	event.Records = event.Records[:1]
	event.Records[0]["body"] = string(body)
	if b, err = json.Marshal(event); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnEventAdvancesARunByOneStep(t *testing.T) {
	w := newWorld(t)
	w.run(t, w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second))
	receipt := w.submit(t, "t1", "parallel: a, b")
	w.take(t) // the submission's own wake-up: the sample event comes in its place

	result, err := w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: "t1", Dispatch: receipt.DispatchID}))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(result.Payload)); got != `{"batchItemFailures":null}` && got != `{"batchItemFailures":[]}` {
		t.Errorf("the batch returned %s", got)
	}
	h := w.head(t, "t1")
	if h.Run.ID != receipt.RunID || h.Run.Step != 1 || h.Run.Cursor.String() != "infer" || !h.Ready() || h.Claim.Fence != 0 {
		t.Errorf("after one event the head is %+v", h)
	}
	want := []string{"user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`}
	if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
		t.Error(diff)
	}
	var next core.WakeUp
	if err := json.Unmarshal([]byte(w.take(t).Body), &next); err != nil {
		t.Fatal(err)
	}
	if next.Key() != key("t1") {
		t.Errorf("the next wake-up is for %s", next.Key())
	}

	if _, err := w.host.Invoke(t.Context(), "step", eventFor(t, next)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, "assistant: Echo: a, b"), w.messages(t, "t1")); diff != "" {
		t.Error(diff)
	}
	if h := w.head(t, "t1"); h.Open() || h.DueAt != 0 {
		t.Errorf("after its last step the run is still open: %+v", h)
	}
}

// chat posts a text as an AI SDK client does.
func chat(t *testing.T, url, thread, text string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":%q}]}]}`, thread, text)
	response, err := http.Post(url+"/v1/ai-sdk/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", response.StatusCode, readAll(t, response.Body))
	}
	return response
}

func TestAChatArrivesWhileItsRunGoesOn(t *testing.T) {
	for _, shape := range []host.Shape{host.ShapeURL, host.ShapeREST} {
		t.Run(string(shape), func(t *testing.T) {
			w := newWorld(t)
			w.run(t, w.function("stream", build(t, "scripts/verify/deployed/stream", ""), time.Minute))
			server := httptest.NewServer(w.host.Handler(host.Front{Function: "stream", Shape: shape}))
			defer server.Close()
			response := chat(t, server.URL, "t1", "slow: 20")
			lines := bufio.NewScanner(response.Body)
			deltas := 0
			for lines.Scan() {
				if !strings.Contains(lines.Text(), `"type":"text-delta"`) {
					continue
				}
				if deltas++; deltas == 1 {
					asked := time.Now()
					h := w.head(t, "t1")
					if answered := time.Since(asked) < time.Second; answered && (!h.Open() || h.Claim.Fence == 0) { // the run has 2 s
						t.Error("the first word arrived when the run was over")
					}
				}
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
			if deltas != 20 {
				t.Errorf("%d words arrived in chunks of their own, want 20", deltas)
			}
			want := []string{"user: slow: 20", "assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20"}
			if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPanicEndsTheStreamWithAnError(t *testing.T) {
	w := newWorld(t)
	w.run(t, w.function("stream", build(t, "scripts/verify/deployed/stream", "killpoints"), time.Minute))
	server := httptest.NewServer(w.host.Handler(host.Front{Function: "stream"}))
	defer server.Close()
	body := readAll(t, chat(t, server.URL, "t1", "panic in the middle").Body)
	i, j, k := strings.Index(body, `"type":"text-delta"`), strings.Index(body, `"type":"error"`), strings.Index(body, "[DONE]")
	if i < 0 || j < i || k < j {
		t.Errorf("want a word, then an error, then the end, in\n%s", body)
	}
	if h := w.head(t, "t1"); h.Open() {
		t.Error("the run is still open")
	}
	if body := readAll(t, chat(t, server.URL, "t2", "hello").Body); !strings.Contains(body, `"finishReason":"stop"`) {
		t.Errorf("the next request did not work:\n%s", body)
	}
}

func TestAStreamNearItsDeadlineYields(t *testing.T) {
	w := newWorld(t)
	w.run(t,
		w.function("stream", build(t, "scripts/verify/deployed/stream", ""), 8*time.Second), // a step's time is over after 3 s or so
		w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second))
	server := httptest.NewServer(w.host.Handler(host.Front{Function: "stream"}))
	defer server.Close()
	body := readAll(t, chat(t, server.URL, "t1", "slow: 60").Body)
	if strings.Contains(body, `"finishReason":"stop"`) || !strings.Contains(body, `"type":"error"`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("a stream that was cut short must end with an error:\n%s", body)
	}
	h := w.head(t, "t1")
	if !h.Open() || h.Claim.Fence != 0 || !h.Ready() {
		t.Fatalf("the run was not handed back: %+v", h)
	}
	w.finish(t, "t1")
	got := w.messages(t, "t1")
	if len(got) != 2 || got[0] != "user: slow: 60" || !strings.HasPrefix(got[1], "assistant: w1 w2 ") || !strings.HasSuffix(got[1], " w59 w60") {
		t.Errorf("the thread holds %q", got)
	}
}

func TestAStepFunctionStopsSteppingNearItsDeadline(t *testing.T) {
	w := newWorld(t)
	// 20 s must be left to begin another step: 15 s are too few.
	w.run(t, w.function("step", build(t, "scripts/verify/deployed/step", ""), 15*time.Second, "REVEILLE_STEPS_PER_INVOCATION=10"))
	receipt := w.submit(t, "t1", "echo: a")
	if _, err := w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: "t1", Dispatch: receipt.DispatchID})); err != nil {
		t.Fatal(err)
	}
	if h := w.head(t, "t1"); h.Run.Step != 1 || !h.Ready() {
		t.Errorf("want one step and a yield, the head is %+v", h)
	}
	w.finish(t, "t1")
	if diff := cmp.Diff([]string{"user: echo: a", "assistant: ", `tool: {"text":"a"}`, "assistant: Echo: a"}, w.messages(t, "t1")); diff != "" {
		t.Error(diff)
	}
}

func TestTheBufferedFunctionQueuesAndTheSweepReturnsItsCounts(t *testing.T) {
	w := newWorld(t)
	w.run(t,
		w.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second),
		w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second),
		w.function("sweep", build(t, "functions/sweep", ""), 30*time.Second))
	server := httptest.NewServer(w.host.Handler(host.Front{Function: "api", Shape: host.ShapeREST}))
	defer server.Close()
	response, err := http.Post(server.URL+"/v1/threads/t1/messages", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"echo: a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body := readAll(t, response.Body); response.StatusCode != http.StatusAccepted || !strings.Contains(body, `"status":"queued"`) {
		t.Fatalf("status %d: %s", response.StatusCode, body)
	}
	w.finish(t, "t1")
	if diff := cmp.Diff([]string{"user: echo: a", "assistant: ", `tool: {"text":"a"}`, "assistant: Echo: a"}, w.messages(t, "t1")); diff != "" {
		t.Error(diff)
	}
	if got := w.sweep(t); got != `{"woken":0}` {
		t.Errorf("the sweep returned %s", got)
	}
}
