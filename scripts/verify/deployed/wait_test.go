//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// waiting is a deployment on whose thread t1 a call of danger waits for a person.
type waitingCall struct {
	*world
	stream, api string // addresses
	message     string // id of the assistant's message
	call        string // id of the call
	approval    string
}

// newWaiting asks for danger over the stream function, which suspends the call.
func newWaiting(t *testing.T) *waitingCall {
	t.Helper()
	w := &waitingCall{world: newWorld(t)}
	w.run(t,
		w.function("stream", build(t, "scripts/verify/deployed/stream", ""), time.Minute),
		w.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second, "REVEILLE_LEASE=1s"),
		w.function("step", build(t, "scripts/verify/deployed/step", ""), 30*time.Second, "REVEILLE_LEASE=1s"))
	w.stream = w.front(t, host.Front{Function: "stream"})
	w.api = w.front(t, host.Front{Function: "api", Shape: host.ShapeREST})
	for _, c := range chunks(t, readAll(t, chat(t, w.stream, "t1", "approve: ship it").Body)) {
		switch c.Type {
		case "start":
			w.message = c.MessageID
		case "tool-approval-request":
			w.call, w.approval = c.ToolCallID, c.ApprovalID
		}
	}
	if w.message == "" || w.call == "" || w.approval == "" {
		t.Fatalf("no approval was asked for: %+v", w)
	}
	return w
}

func (w *world) front(t *testing.T, f host.Front) string {
	t.Helper()
	server := httptest.NewServer(w.host.Handler(f))
	t.Cleanup(server.Close)
	return server.URL
}

// chunk is one item of an AI SDK stream, as far as these tests read it.
type chunk struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId"`
	ToolCallID   string          `json:"toolCallId"`
	ApprovalID   string          `json:"approvalId"`
	Output       json.RawMessage `json:"output"`
	Delta        string          `json:"delta"`
	FinishReason string          `json:"finishReason"`
}

func chunks(t *testing.T, body string) (all []chunk) {
	t.Helper()
	for frame := range strings.SplitSeq(body, "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("frame %q: %v", frame, err)
		}
		all = append(all, c)
	}
	return all
}

// deliverOne hands the next message to the step function.
func (w *world) deliverOne(t *testing.T) {
	t.Helper()
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", BatchSize: 1, Wait: time.Second}
	for range 30 {
		done, err := p.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done == 1 {
			return
		}
	}
	t.Fatal("no message was delivered")
}

// deliver hands messages to the step function, one at a time, until none has come
// for a while and none is left, and returns how many there were.
func (w *world) deliver(t *testing.T, quiet time.Duration) (deliveries int) {
	t.Helper()
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", BatchSize: 1, Wait: time.Second}
	for last := time.Now(); time.Since(last) < quiet || w.anyLeft(t); {
		done, err := p.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if deliveries += done; done > 0 {
			last = time.Now()
		}
	}
	return deliveries
}

// anyLeft tells whether a message is on the queue, now or later: a slow machine may come
// to it late.
func (w *world) anyLeft(t *testing.T) bool {
	visible, delayed := w.waiting(t)
	return visible+delayed != "00"
}

// emptied fails when a message is on the queue, now or later.
func (w *world) emptied(t *testing.T) {
	t.Helper()
	if visible, delayed := w.waiting(t); visible != "0" || delayed != "0" {
		t.Errorf("%s messages are on the queue and %s come later, want none", visible, delayed)
	}
}

// rests fails unless the thread costs nothing: the call waits, nobody holds the
// run, and nothing is due.
func (w *waitingCall) rests(t *testing.T) {
	t.Helper()
	h := w.head(t, "t1")
	if len(h.Tickets) != 1 || h.Tickets[0].Decision != 0 || !h.Open() || h.Ready() || h.Claim.Fence != 0 || h.DueAt != 0 {
		t.Errorf("the run does not wait, free of charge: %+v", h)
	}
}

// asked lists the calls that the api function says wait for a person.
func (w *waitingCall) asked(t *testing.T) (calls []string) {
	t.Helper()
	response, err := http.Get(w.api + "/v1/approvals")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct {
		Approvals []struct {
			Thread string `json:"thread_id"`
			Call   string `json:"tool_call_id"`
		}
	}
	if text := readAll(t, response.Body); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &page) != nil {
		t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	for _, a := range page.Approvals {
		calls = append(calls, a.Thread+" "+a.Call)
	}
	return calls
}

// A suspended call is woken by nobody: between suspension and decision no message is on
// the queue. The decision wakes the step function: one invocation for the tool, one for the
// text that follows, and one or more for second hints, which come after two leases.
func TestASuspendedRunCostsNothingUntilItsDecision(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	w.rests(t)
	w.emptied(t)
	if got := w.asked(t); !slices.Equal(got, []string{"t1 " + w.call}) {
		t.Errorf("a person is asked about %v, want the call %s of t1", got, w.call)
	}
	body := fmt.Sprintf(`{"tool_call_id":%q,"decision_id":"yes","action":"resume","payload":{"approved":true}}`, w.call)
	for i, duplicate := range []string{`"duplicate":false`, `"duplicate":true`} {
		response, err := http.Post(w.api+"/v1/threads/t1/decision", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if text := readAll(t, response.Body); response.StatusCode != http.StatusAccepted || !strings.Contains(text, duplicate) {
			t.Fatalf("status %d: %s; want 202 with %s", response.StatusCode, text, duplicate)
		}
		if got := w.asked(t); len(got) != 0 {
			t.Errorf("after the decision a person is asked about %v", got)
		}
		if i == 0 {
			if n := w.deliver(t, 4*time.Second); n < 3 {
				t.Errorf("after the decision the step function was invoked %d times, want 2, and again for the second hint", n)
			}
		}
	}
	want := []string{"user: approve: ship it", "assistant: ", `tool: {"text":"ship it","executions":1}`, "assistant: Done: ship it"}
	if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
		t.Error(diff)
	}
	if h := w.head(t, "t1"); h.Open() || h.DueAt != 0 {
		t.Errorf("the run is not over: %+v", h)
	}
	w.emptied(t)
}

// The same when the client decides over the stream function, which goes on with
// the run itself: then no message is on the queue at any time.
func TestASuspendedRunGoesOnInTheStreamThatDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		approved       bool
		output, result string
		text           string
	}{
		{true, "tool-output-available", `tool: {"text":"ship it","executions":1}`, "Done: ship it"},
		{false, "tool-output-denied", "tool: denied", "The call of danger was denied."},
	} {
		t.Run(tt.output, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t)
			body := fmt.Sprintf(`{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"approve: ship it"}]},
				{"id":%q,"role":"assistant","parts":[{"type":"step-start"},{"type":"tool-danger","toolCallId":%q,"state":"approval-responded",
				"input":{"text":"ship it"},"approval":{"id":%q,"approved":%v}}]}]}`, w.message, w.call, w.approval, tt.approved)
			response, err := http.Post(w.stream+"/v1/ai-sdk/chat", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, outputs, last := "", 0, chunk{}
			for _, c := range chunks(t, readAll(t, response.Body)) {
				text += c.Delta
				if c.Type == tt.output {
					outputs++
				}
				last = c
			}
			if response.StatusCode != http.StatusOK || text != tt.text || outputs != 1 || last.Type != "finish" || last.FinishReason != "stop" {
				t.Errorf("status %d, %d outputs, text %q, last %+v", response.StatusCode, outputs, text, last)
			}
			w.emptied(t)
			want := []string{"user: approve: ship it", "assistant: ", tt.result, "assistant: " + tt.text}
			if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
