//go:build aws

package deployed

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/protocoltest"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// A client that opens a stream and reads nothing delays nobody, though Lambda does
// not tell of it: what its run says is more than all buffers on the way hold, and
// still the run is over, or cancelled, and the thread's next message gets its turn
// soon. Nothing runs beside this test: it is about time.
func TestADeafClientDelaysNobody(t *testing.T) {
	w := newWorld(t)
	w.run(t,
		w.function("stream", build(t, "functions/stream", ""), 2*time.Minute),
		w.function("api", build(t, "functions/api", ""), 30*time.Second),
		w.function("step", build(t, "functions/step", ""), 30*time.Second))
	api := w.front(t, host.Front{Function: "api", Shape: host.ShapeREST})
	large := make([]string, 30)
	for i := range large {
		large[i] = strings.Repeat(`"`, 16<<10) // which grows with each time that it is quoted
	}
	body, err := json.Marshal(map[string]any{"threadId": "t1", "messages": []map[string]string{{"role": "user", "content": "parallel: " + strings.Join(large, ", ")}}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(w.host.Handler(host.Front{Function: "stream"}))
	slow := &protocoltest.Narrow{Listener: front.Listener}
	front.Listener = slow
	front.Start()
	t.Cleanup(front.Close)
	slow.Deaf(t, "/v1/runs", string(body))
	slow.Stuck(t)
	began := time.Now()
	response, err := http.Post(api+"/v1/threads/t1/cancel", "application/json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	cancelled := readAll(t, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted && response.StatusCode != http.StatusNotFound { // 404: it is over already
		t.Fatalf("cancel: status %d: %s", response.StatusCode, cancelled)
	}
	w.submit(t, "t1", "hello")
	w.finish(t, "t1")
	took := time.Since(began)
	if t.Logf("the next message got its reply %s after the cancel (%d)", took, response.StatusCode); took > 15*time.Second { // a thread that is held waits for its lease, of 30 s
		t.Error("want at most 15 s")
	}
	if got := w.messages(t, "t1"); !slices.Contains(got, "assistant: You said: hello") {
		t.Errorf("%d messages, none follows the last", len(got))
	}
}
