package lambda

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
)

// destination is where a responseWriter writes to. start is called once, before any
// write, which may block.
type destination interface {
	start(status int, header http.Header)
	write(p []byte) (int, error)
}

// deadliner is a destination whose writes can be given a deadline.
type deadliner interface {
	setDeadline(until time.Time)
}

// responseWriter is an http.ResponseWriter and http.Flusher that behaves as
// net/http's does: the header is frozen by the first WriteHeader or Write, it
// leaves with the first body byte or Flush, a missing Content-Type is detected,
// HEAD and bodyless statuses write no body. Its methods may be called
// concurrently.
type responseWriter struct {
	out    destination
	id     string // of the request
	head   bool   // the request's method is HEAD
	header http.Header

	mu      sync.Mutex
	status  int         // 0 until the header is frozen
	frozen  http.Header // what start is given
	started bool
	written int   // body bytes
	broken  error // what every further write returns
}

func newResponseWriter(out destination, x exchange) *responseWriter {
	w := &responseWriter{out: out, id: x.line.ID(), head: x.request.Method == http.MethodHead, header: http.Header{}}
	w.header.Set(requestlog.Header, w.id)
	return w
}

// response is what the request's line tells of the response.
func (w *responseWriter) response() requestlog.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	return requestlog.Response{Status: w.status, Bytes: int64(w.written), Stream: requestlog.IsStream(w.frozen), Aborted: w.broken != nil}
}

// add counts bytes that were written without this writer.
func (w *responseWriter) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written += n
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Informational statuses are
// ignored: no AWS front end passes them on.
func (w *responseWriter) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status)) // as net/http does
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.freeze(status)
	}
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freeze(http.StatusOK)
	if w.broken != nil {
		return 0, w.broken
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !statusAllowsBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if _, typed := w.frozen["Content-Type"]; !typed && !w.started && w.frozen.Get("Content-Encoding") == "" {
		w.frozen.Set("Content-Type", http.DetectContentType(p))
	}
	w.start()
	if w.head {
		return len(p), nil
	}
	n, err := w.out.write(p)
	w.written += n
	return n, err
}

// Flush implements http.Flusher. Every write leaves at once, so that only a
// header without a body has to be pushed.
func (w *responseWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freeze(http.StatusOK)
	if w.broken == nil {
		w.start()
	}
}

// SetWriteDeadline makes http.ResponseController.SetWriteDeadline work. It does not
// take the lock, which a write holds while it waits: it has to end that one.
func (w *responseWriter) SetWriteDeadline(deadline time.Time) error {
	d, ok := w.out.(deadliner)
	if !ok {
		return http.ErrNotSupported
	}
	d.setDeadline(deadline)
	return nil
}

// finish sends what a handler left unsaid when it returned. empty, if not nil,
// is the body of a response that may have one and has none.
func (w *responseWriter) finish(empty []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freeze(http.StatusOK)
	if w.broken != nil {
		return
	}
	pad := len(empty) > 0 && w.written == 0 && !w.head && statusAllowsBody(w.status)
	if pad && !w.started {
		w.frozen.Del("Content-Length")
		if _, typed := w.frozen["Content-Type"]; !typed {
			w.frozen.Set("Content-Type", "text/plain; charset=utf-8")
		}
	}
	w.start()
	if pad && w.frozen.Get("Content-Length") == "" {
		_, _ = w.out.write(empty)
	}
}

// abandon makes every further write return the cause. When nothing has left
// yet, it starts a JSON response with the given status, whose body the caller
// has to send unless the request was a HEAD.
func (w *responseWriter) abandon(status int, cause error) (started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = cause
	if w.started {
		return false
	}
	w.status = status
	w.frozen = http.Header{"Content-Type": {"application/json"}, requestlog.Header: {w.id}}
	w.start()
	return true
}

func (w *responseWriter) freeze(status int) {
	if w.status == 0 {
		w.status, w.frozen = status, w.header.Clone()
	}
}

func (w *responseWriter) start() {
	if !w.started {
		w.started = true
		w.out.start(w.status, w.frozen)
	}
}

func statusAllowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
