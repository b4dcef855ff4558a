package agui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/agui"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

func TestTheHistoryIsTheProtocolsMessages(t *testing.T) {
	w := newWorld(t)
	w.run(t, "/v1/ag-ui/threads/t1/runs", said("other", "r1", "m1", "echo: hello"))
	response, err := http.Get(w.URL + "/v1/ag-ui/threads/t1/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got struct{ Messages []map[string]any }
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	call := got.Messages[2]["toolCallId"]
	for _, m := range got.Messages[1:] {
		delete(m, "id")
	}
	want := `[{"content":"echo: hello","id":"m1","role":"user"},` +
		`{"role":"assistant","toolCalls":[{"function":{"arguments":"{\"text\":\"hello\"}","name":"echo"},"id":"` + call.(string) + `","type":"function"}]},` +
		`{"content":"{\"text\":\"hello\"}","role":"tool","toolCallId":"` + call.(string) + `"},{"content":"Echo: hello","role":"assistant"}]`
	if diff := cmp.Diff(want, encoded(t, got.Messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestRoutesRefuseWhatIsNot(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","messages":[]}`, 400, "no new message"},
		{"/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","messages":[{"id":"a","role":"user","content":" "}]}`, 400, "has no text and no file"},
		{"/v1/ag-ui/run", `{"runId":"r1","messages":[{"id":"a","role":"user","content":"x"}]}`, 400, "thread id"},
		{"/v1/ag-ui/run", `{"threadId":"a#b","messages":[]}`, 400, "thread id"},
		{"/v1/ag-ui/agents/nobody/runs", `{"threadId":"t1","runId":"r1","messages":[{"id":"a","role":"user","content":"x"}]}`, 404, `agent \"nobody\" not found`},
		{"/v1/ag-ui/threads/t1/cancel", ``, 404, "active run of thread t1 not found"},
		{"/v1/ag-ui/threads/t1/interrupt", ``, 404, "thread t1 not found"},
		{"/v1/ag-ui/nothing", `{}`, 404, ""},
	}
	for _, test := range tests {
		if status, text := w.post(t, test.path, test.body); status != test.status || !strings.Contains(text, test.says) {
			t.Errorf("%s %s: %d %s", test.path, test.body, status, text)
		}
	}
	for path, says := range map[string]string{"/v1/ag-ui/threads/t1/messages": "thread t1 not found", "/v1/ag-ui/threads/t1/stream": "thread t1 not found"} {
		response := httptest.NewRecorder()
		w.Config.Handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if response.Code != 404 || !strings.Contains(response.Body.String(), says) {
			t.Errorf("%s: %d %s", path, response.Code, response.Body)
		}
	}
}

func TestARunThatWaitsIsCancelledOrInterrupted(t *testing.T) {
	w := newWorld(t)
	for _, end := range []string{"cancel", "interrupt"} {
		thread := "t-" + end
		w.run(t, "/v1/ag-ui/run", said(thread, "r1", "m1", "approve: it"))
		status, text := w.post(t, "/v1/ag-ui/threads/"+thread+"/"+end, "")
		if status != 202 || !strings.Contains(text, `"status":"`+end+`_requested","threadId":"`+thread+`"`) {
			t.Errorf("%s: %d %s", end, status, text)
		}
		all := w.run(t, "/v1/ag-ui/run", said(thread, "r1", "m1", "approve: it"))
		if got := encoded(t, find(t, all, "RUN_FINISHED")["outcome"]); got != `{"type":"cancelled"}` {
			t.Errorf("%s: outcome %s", end, got)
		}
		if _, text := types(w.run(t, "/v1/ag-ui/run", said(thread, "r2", "m2", "echo: on"))); text != "Echo: on" {
			t.Errorf("%s: the next run says %q", end, text)
		}
	}
}

// buffered is the handler on a transport that cannot stream, over the world's runtime.
func (w *world) buffered(method, path, body, accept string, user string) *httptest.ResponseRecorder {
	return w.bufferedAt(env.System(), method, path, body, accept, user)
}

// clocked is a host with a clock of its own.
type clocked struct {
	protocol.Host
	env *env.Env
}

func (c clocked) Env() *env.Env { return c.env }

func (w *world) bufferedAt(e *env.Env, method, path, body, accept string, user string) *httptest.ResponseRecorder {
	handler := agui.New(clocked{w.runtime, e}, &agui.Options{Buffered: true, StreamURL: "https://stream.example"})
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, r.WithContext(core.WithIdentity(r.Context(), core.Identity{Tenant: "acme", User: user})))
	return response
}

func TestABufferedTransportQueues(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/ag-ui/run", "/v1/ag-ui/threads/t1/connect"} {
		if got := w.buffered("POST", path, said("t1", "r1", "m1", "approve: it"), "text/event-stream", ""); got.Code != 406 {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	got := w.buffered("POST", "/v1/ag-ui/run", said("t1", "r1", "m1", "approve: it"), "", "")
	if got.Code != 202 || !strings.Contains(got.Body.String(), `"stream_url":"https://stream.example/v1/ag-ui/threads/t1/stream"`) {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	waiting := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "approve: it")) // until it waits
	id := find(t, waiting, "RUN_FINISHED")["outcome"].(map[string]any)["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	answer := `{"threadId":"t1","runId":"r2","messages":[],"resume":[{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true}}]}`
	if got := w.buffered("POST", "/v1/ag-ui/run", answer, "text/event-stream", ""); got.Code != 406 {
		t.Errorf("an answer that wants a stream: %d %s", got.Code, got.Body)
	}
	if got := w.buffered("POST", "/v1/ag-ui/run", strings.ReplaceAll(answer, "true", `"x"`), "", ""); got.Code != 400 {
		t.Errorf("an answer that breaks the contract: %d %s", got.Code, got.Body)
	}
	if got := w.buffered("POST", "/v1/ag-ui/run", answer, "", ""); got.Code != 202 || !strings.Contains(got.Body.String(), `"status":"decision_submitted"`) {
		t.Errorf("an answer: %d %s", got.Code, got.Body)
	}
}

func TestAnothersThreadLooksLikeNone(t *testing.T) {
	w := newWorld(t)
	if got := w.buffered("POST", "/v1/ag-ui/run", said("t1", "r1", "m1", "hello"), "", "ann"); got.Code != 202 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	for _, request := range []struct{ method, path, body string }{
		{"POST", "/v1/ag-ui/run", said("t1", "r1", "m1", "hello")},
		{"POST", "/v1/ag-ui/run", `{"threadId":"t1","runId":"r2","messages":[],"resume":[{"interruptId":"x","status":"cancelled"}]}`},
		{"GET", "/v1/ag-ui/threads/t1/messages", ""},
		{"POST", "/v1/ag-ui/threads/t1/cancel", ""},
		{"POST", "/v1/ag-ui/threads/t1/interrupt", ""},
	} {
		if got := w.buffered(request.method, request.path, request.body, "", "bob"); got.Code != 404 {
			t.Errorf("%s %s: %d %s", request.method, request.path, got.Code, got.Body)
		}
	}
}
