//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reveille-run/reveille/scripts/lambdahost/host"
)

// A client that opens a stream and reads nothing delays nobody, though Lambda does
// not tell of it: what its run says is more than all buffers on the way hold, and
// still the run is over, or cancelled, and the thread's next message is answered
// within 5 s. Nothing runs beside this test: it is about time.
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
	slow := &narrow{Listener: front.Listener}
	front.Listener = slow
	front.Start()
	t.Cleanup(front.Close)
	deafClient(t, front.Listener.Addr().String(), string(body))
	slow.stuck(t)
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
	if t.Logf("the next message was answered %s after the cancel (%d)", took, response.StatusCode); took > 5*time.Second {
		t.Error("want at most 5 s")
	}
	if got := w.messages(t, "t1"); !slices.Contains(got, "assistant: You said: hello") {
		t.Errorf("%d messages, none answers the last", len(got))
	}
}

// narrow accepts connections that hold next to nothing, and notes when a write to
// one of them began that has not ended.
type narrow struct {
	net.Listener
	writing atomic.Int64 // unix nanoseconds; 0: no write is under way
}

func (n *narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return watched{c, n}, c.(*net.TCPConn).SetWriteBuffer(1)
}

type watched struct {
	net.Conn
	by *narrow
}

func (w watched) Write(b []byte) (int, error) {
	w.by.writing.Store(time.Now().UnixNano())
	defer w.by.writing.Store(0)
	return w.Conn.Write(b)
}

// stuck waits until a write waits for its reader.
func (n *narrow) stuck(t *testing.T) {
	t.Helper()
	for range 3000 {
		if began := n.writing.Load(); began != 0 && time.Since(time.Unix(0, began)) > time.Second {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no write waits for its reader after 30 s")
}

// deafClient starts a run and reads nothing of its stream.
func deafClient(t *testing.T, address, body string) {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (failed error) {
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
		if err != nil {
			return err
		}
		return failed
	}}
	c, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	head := fmt.Sprintf("POST /v1/runs HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", address, len(body))
	if _, err := io.WriteString(c, head+body); err != nil {
		t.Fatal(err)
	}
}
