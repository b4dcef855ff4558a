package local

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/protocoltest"
)

// A client that opens a stream and reads nothing delays nobody: its run can be
// cancelled, and the thread's next message gets its turn.
func TestADeafClientDelaysNobody(t *testing.T) {
	_, h := serveOpenHost(t, filepath.Join(t.TempDir(), "data.db"))
	others := httptest.NewServer(h.handler)
	defer others.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	slow := &protocoltest.Narrow{Listener: listener}
	server := &http.Server{Handler: h.handler, ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(slow) }()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	slow.Deaf(t, "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"slow: 600"}]}`)
	slow.Stuck(t)
	began := time.Now()
	response, err := http.Post(others.URL+"/v1/threads/t1/cancel", "application/json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusAccepted {
		t.Fatalf("cancel: status %d, %v", response.StatusCode, err)
	}
	_ = response.Body.Close()
	if status, body := post(t, others.URL+"/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hello"}]}`); status != http.StatusAccepted {
		t.Fatalf("next message: status %d: %s", status, body)
	}
	for !slices.Contains(said(t, others.URL, "t1"), "assistant: You said: hello") {
		if time.Since(began) > 60*time.Second {
			t.Fatalf("the next message gets no reply:\n%s", strings.Join(said(t, others.URL, "t1"), "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	if t.Logf("the next message got its reply %s after the cancel", took); took > 20*time.Second { // a thread that its client held would wait for the 30 s that a write may take
		t.Error("want at most 20 s")
	}
}
