package protocol

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped serves a handler over a connection in memory that buffers nothing, and returns the
// client's side.
func piped(t *testing.T, handler http.Handler) net.Conn {
	t.Helper()
	client, side := net.Pipe()
	listener := &single{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conn <- side
	server := &http.Server{Handler: handler}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		<-ended
	})
	return client
}

// single is a listener of one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

// A client that takes a response within 30 s has it whole; later it has nothing, whatever it
// was to be given. A stream is not concerned: the writer of its frames decides.
func TestAResponseHasThirtySecondsToLeave(t *testing.T) {
	tests := []struct {
		name    string
		kind    string
		status  int
		size    int
		flushed bool
		stream  bool
	}{
		{"a page", "application/json", 0, 2_800_000, false, false},
		{"a small one", "application/json", http.StatusNotFound, 10_000, false, false},
		{"one that is flushed", "text/csv", 0, 10_000, true, false},
		{"one without a body", "", http.StatusNoContent, 0, false, false},
		{"one that says nothing", "", 0, 0, false, false},
		{"a stream", "text/event-stream", 0, 10_000, false, true},
	}
	for _, tt := range tests {
		for _, after := range []time.Duration{29 * time.Second, 31 * time.Second} {
			t.Run(fmt.Sprint(tt.name, " read after ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := piped(t, Bound(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if tt.kind != "" {
							w.Header().Set("Content-Type", tt.kind)
						}
						if tt.status != 0 {
							w.WriteHeader(tt.status)
						}
						if tt.size > 0 {
							_, _ = w.Write(make([]byte, tt.size))
						}
						if tt.flushed {
							_ = http.NewResponseController(w).Flush()
						}
					})))
					_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
					time.Sleep(after)
					all, _ := io.ReadAll(client)
					if whole := len(all) > tt.size; whole != (tt.stream || after < 30*time.Second) {
						t.Errorf("%d bytes come", len(all))
					}
				})
			})
		}
	}
}

// What is over the bound is refused as a whole, and room that is given back is used again.
func TestOpenResponsesHaveABound(t *testing.T) {
	const size = 1 << 20
	b := &bounds{time: time.Minute, most: 3 * size}
	handler := b.bound(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", r.URL.Path[1:])
		w.Header().Set("Etag", `"x"`)
		w.WriteHeader(http.StatusCreated)
		var n int
		_, _ = fmt.Sscan(r.URL.Path[1:], &n)
		_, _ = w.Write(bytes.Repeat([]byte{'x'}, n))
	}))
	get := func(n int, w http.ResponseWriter) {
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprint("/", n), http.NoBody))
	}
	stuck := make([]*holding, 3)
	for i := range stuck {
		stuck[i] = &holding{ResponseRecorder: httptest.NewRecorder(), inside: make(chan struct{}), free: make(chan struct{}), over: make(chan struct{})}
		go func() {
			defer close(stuck[i].over)
			get(size, stuck[i])
		}()
		<-stuck[i].inside
	}
	refused, small, larger := httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()
	get(size, refused)
	get(64<<10, small)
	get(64<<10+1, larger)
	const want = `{"error":"responses of more than 3145728 bytes wait for clients that do not read them: try again later","code":"throttled"}`
	if got := strings.TrimSpace(refused.Body.String()); refused.Code != http.StatusServiceUnavailable || got != want || refused.Header().Get("Retry-After") != "5" ||
		refused.Header().Get("Content-Type") != "application/json" || refused.Header().Get("Content-Length") != "" || refused.Header().Get("Etag") != "" {
		t.Errorf("without room: %d %v %s", refused.Code, refused.Header(), got)
	}
	if small.Code != http.StatusCreated || small.Body.Len() != 64<<10 {
		t.Errorf("a small response without room: %d, %d bytes", small.Code, small.Body.Len())
	}
	if larger.Code != http.StatusServiceUnavailable {
		t.Errorf("one of a byte more without room: %d", larger.Code)
	}
	close(stuck[0].free)
	<-stuck[0].over
	again := httptest.NewRecorder()
	get(size, again)
	if again.Code != http.StatusCreated || again.Body.Len() != size {
		t.Errorf("with room again: %d, %d bytes", again.Code, again.Body.Len())
	}
	for _, s := range stuck[1:] {
		close(s.free)
		<-s.over
	}
	if open := b.open.Load(); open != 0 {
		t.Errorf("%d bytes are open in the end", open)
	}
}

// holding is a client that takes nothing until it is freed.
type holding struct {
	*httptest.ResponseRecorder
	inside, free, over chan struct{}
}

func (h *holding) Write(p []byte) (int, error) {
	close(h.inside)
	<-h.free
	return h.ResponseRecorder.Write(p)
}

// What is bounded already is not counted twice.
func TestABoundInsideABoundDoesNothing(t *testing.T) {
	inner := &bounds{time: time.Minute, most: 1}
	outer := &bounds{time: time.Minute, most: 1 << 30}
	rec := httptest.NewRecorder()
	outer.bound(inner.bound(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
	}))).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if rec.Code != http.StatusOK || rec.Body.Len() != 1<<20 {
		t.Errorf("%d, %d bytes", rec.Code, rec.Body.Len())
	}
}
