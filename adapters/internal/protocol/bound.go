package protocol

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core"
)

const (
	// ResponseTime is the time limit for sending a response that is not a stream, from
	// its first byte. After it, the connection is closed.
	ResponseTime = 30 * time.Second
	// MaxOpen is the limit for the bytes of such responses that wait for their clients,
	// over all responses. A response that would exceed it becomes a 503 with Retry-After.
	MaxOpen = 64 << 20
	// smallResponse is the size up to which a response is not counted, so that a process
	// without free capacity still reports that it is alive, and its refusals.
	smallResponse = 64 << 10
	// openPause is after how many seconds a client that found no room should ask again.
	openPause = 5
)

// Bound returns a handler whose responses take no more time and memory than
// [ResponseTime] and [MaxOpen] allow, however slowly their clients read. It does not
// limit streams: a [Writer] bounds each frame. Inside another Bound it has no effect.
func Bound(next http.Handler) http.Handler {
	return (&bounds{time: ResponseTime, most: MaxOpen}).bound(next)
}

// bounds is what the responses of one handler share.
type bounds struct {
	time time.Duration
	most int64
	open atomic.Int64 // bytes that were given to the transport, and which it has not taken
}

func (b *bounds) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isBounded(w) {
			next.ServeHTTP(w, r)
			return
		}
		out := &bounded{ResponseWriter: w, all: b}
		next.ServeHTTP(out, r) // a panic cuts the connection, and what is held back with it
		out.begin(http.StatusOK)
	})
}

// isBounded reports whether what is written to w is bounded already.
func isBounded(w http.ResponseWriter) bool {
	for w != nil {
		if _, ok := w.(*bounded); ok {
			return true
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
	return false
}

// bounded is a response that holds its status back until the first bytes of its body are
// there, since only then it is known whether there is room for them.
type bounded struct {
	http.ResponseWriter
	all     *bounds
	status  int  // that waits for the body; 0: none
	began   bool // the header has left
	refused bool // there was no room: what the handler writes is dropped
}

// WriteHeader implements http.ResponseWriter.
func (w *bounded) WriteHeader(status int) {
	switch {
	case w.began, w.status != 0:
	case status < 200:
		w.ResponseWriter.WriteHeader(status)
	case w.streams():
		w.began = true
		w.ResponseWriter.WriteHeader(status)
	default:
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *bounded) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	if w.streams() {
		w.began = true
		return w.ResponseWriter.Write(p)
	}
	size := int64(len(p))
	if size <= smallResponse {
		size = 0
	}
	defer w.all.open.Add(-size)
	if w.all.open.Add(size) > w.all.most && !w.began && size > 0 {
		w.refuse()
		return len(p), nil
	}
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// FlushError implements what http.ResponseController looks for.
func (w *bounded) FlushError() error {
	if w.refused {
		return nil
	}
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController what the writer can do.
func (w *bounded) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// streams reports whether the response is a stream of events.
func (w *bounded) streams() bool {
	return strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
}

// begin lets the header leave, and from now on the response has its time. The deadline is
// that of everything which the transport still writes for this request.
func (w *bounded) begin(status int) {
	if w.began {
		return
	}
	w.began = true
	if !w.streams() {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.all.time)) // a transport without deadlines never waits
	}
	if w.status != 0 {
		status = w.status
	}
	if w.status != 0 || w.streams() {
		w.ResponseWriter.WriteHeader(status)
	}
}

// refuse writes the refusal in place of the response.
func (w *bounded) refuse() {
	header := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "Content-Type", "Etag", "Cache-Control", "Location"} {
		header.Del(name)
	}
	header.Set("Retry-After", strconv.Itoa(openPause))
	w.status = 0
	JSON(w, http.StatusServiceUnavailable, Problem{
		Error: "responses of more than " + strconv.FormatInt(w.all.most, 10) + " bytes wait for clients that do not read them: try again later",
		Code:  core.CodeThrottled,
	})
	w.refused = true
}
