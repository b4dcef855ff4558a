package local

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// leave sends a literal request, closes the sending side, and returns the status
// line of what comes.
func leave(t *testing.T, address, request string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(response), "\r\n")
	return line
}

// TestAClientThatLeavesIsNoErrorOfTheHost: it is the client's own doing.
func TestAClientThatLeavesIsNoErrorOfTheHost(t *testing.T) {
	var log strings.Builder
	s, err := settings.Read([]string{"REVEILLE_DATA=" + filepath.Join(t.TempDir(), "data.db")})
	if err != nil {
		t.Fatal(err)
	}
	running := serveLogged(t, s, slog.New(slog.NewTextHandler(&log, nil)))
	address := strings.TrimPrefix(running.url, "http://")
	const body = `{"messages":[{"role":"user","content":"hello"}]}`
	head := "Host: localhost\nContent-Type: application/json\n"
	for n := range 100 { // which of the client's end and the store is first is chance
		path := fmt.Sprintf("/v1/threads/t%d", n)
		line := leave(t, address, fmt.Sprintf("POST %s/messages HTTP/1.1\n%sContent-Length: %d\n\n%s", path, head, len(body), body))
		if line != "HTTP/1.1 202 Accepted" {
			t.Errorf("a whole request, half closed: %q, want 202", line)
		}
		line = leave(t, address, fmt.Sprintf("POST %s/messages HTTP/1.1\n%sContent-Length: 100\n\n%s", path, head, body))
		if line != "HTTP/1.1 400 Bad Request" {
			t.Errorf("half a request: %q, want 400", line)
		}
		line = leave(t, address, fmt.Sprintf("GET %s/messages HTTP/1.1\n%s\n", path, head))
		if line != "HTTP/1.1 200 OK" {
			t.Errorf("a read, half closed: %q, want 200", line)
		}
	}
	running.stop()
	if err := <-running.ended; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "level=ERROR") || strings.Contains(log.String(), "request failed") {
		t.Errorf("the log says\n%s", log.String())
	}
}

func TestABodyThatDoesNotArriveEnds(t *testing.T) {
	const within = 50 * time.Millisecond
	_, h := serveOpenHost(t, filepath.Join(t.TempDir(), "data.db"))
	address := listen(t, boundBodies(h.handler, within))
	got := exchange(t, address, "POST /v1/threads/t1/messages HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 100\n\n{\"messages\":")
	if want := `408 {"error":"the body of the request did not arrive in time","code":"invalid"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTheBodysDeadlineEndsNoStream: a stream may last longer than a body.
func TestTheBodysDeadlineEndsNoStream(t *testing.T) {
	const within = 50 * time.Millisecond
	ended := make(chan error, 1)
	address := listen(t, boundBodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			ended <- context.Cause(r.Context())
		case <-time.After(4 * within):
			ended <- nil
		}
	}), within))
	exchange(t, address, "POST / HTTP/1.1\nHost: localhost\nContent-Length: 2\nConnection: close\n\n{}")
	if err := <-ended; err != nil {
		t.Errorf("the stream's context ended: %v", err)
	}
}

func TestTheServerBoundsItsConnections(t *testing.T) {
	server := newServer(t.Context(), http.NotFoundHandler(), lingerTime, slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout != 10*time.Second || server.IdleTimeout != 2*time.Minute || server.WriteTimeout != 0 || server.ReadTimeout != 0 {
		t.Errorf("timeouts: header %s, idle %s, read %s, write %s", server.ReadHeaderTimeout, server.IdleTimeout, server.ReadTimeout, server.WriteTimeout)
	}
	running := serveUntilStopped(t, "memory")
	address := strings.TrimPrefix(running.url, "http://")
	line := leave(t, address, "GET /health HTTP/1.1\nHost: localhost\nX: "+strings.Repeat("a", 80<<10)+"\n\n")
	if line != "HTTP/1.1 431 Request Header Fields Too Large" {
		t.Errorf("headers of 80 KB: %q, want 431", line)
	}
	running.stop()
	if err := <-running.ended; err != nil {
		t.Fatal(err)
	}
}

// Whatever the host answers has its time, also what no route of the API says: metrics,
// triggers, refusals.
func TestEveryResponseOfTheServerHasADeadline(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	w := &dated{ResponseRecorder: httptest.NewRecorder()}
	newServer(t.Context(), answers, time.Second, slog.New(slog.DiscardHandler)).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if left := time.Until(w.deadline); w.Body.String() != "hello" || left < 25*time.Second || left > 30*time.Second {
		t.Errorf("%s has to leave within %s, want 30s", w.Body, left)
	}
}

// dated is a response whose transport has deadlines.
type dated struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *dated) SetWriteDeadline(at time.Time) error {
	d.deadline = at
	return nil
}
