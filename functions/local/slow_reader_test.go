package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

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

// deafClient sends a request and reads nothing of the response.
func deafClient(t *testing.T, address, path, body string) {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
		return errors.Join(err, failed)
	}}
	c, err := dialer.DialContext(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body); err != nil {
		t.Fatal(err)
	}
}

// A client that opens a stream and reads nothing delays nobody: its run can be
// cancelled, and the thread's next message is answered.
func TestADeafClientDelaysNobody(t *testing.T) {
	_, h := serveOpenHost(t, filepath.Join(t.TempDir(), "data.db"))
	others := httptest.NewServer(h.handler)
	defer others.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	slow := &narrow{Listener: listener}
	server := &http.Server{Handler: h.handler, ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(slow) }()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	deafClient(t, listener.Addr().String(), "/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"slow: 600"}]}`)
	slow.stuck(t)
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
			t.Fatalf("the next message is not answered:\n%s", strings.Join(said(t, others.URL, "t1"), "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	if t.Logf("the next message was answered %s after the cancel", took); took > 5*time.Second {
		t.Error("want at most 5 s")
	}
}
