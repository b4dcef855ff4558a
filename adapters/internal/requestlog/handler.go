package requestlog

import (
	"net/http"
	"strings"
)

// Handler logs a line for each request to next, and adds [Header] to its response. It is for
// a server of net/http, outside of every other handler.
func Handler(next http.Handler, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, line := Start(r, o, "", "")
		w.Header().Set(Header, line.ID())
		out := &counted{ResponseWriter: w}
		out.response.Aborted = true
		defer func() { // without recover: the server, too, must see a panic
			out.response.Left = r.Context().Err() != nil
			line.End(out.response)
		}()
		next.ServeHTTP(out, r)
		out.response.Aborted = false
	})
}

// counted is a response that counts what is written.
type counted struct {
	http.ResponseWriter
	response Response
}

// WriteHeader implements http.ResponseWriter.
func (w *counted) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *counted) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.response.Bytes += int64(n)
	return n, err
}

// FlushError implements what http.ResponseController looks for.
func (w *counted) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController what the writer can do.
func (w *counted) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// begin records the first status that is not an interim one.
func (w *counted) begin(status int) {
	if w.response.Status == 0 && status >= 200 {
		w.response.Status, w.response.Stream = status, IsStream(w.Header())
	}
}

// IsStream reports whether a response is a stream of events.
func IsStream(header http.Header) bool {
	return strings.HasPrefix(header.Get("Content-Type"), "text/event-stream")
}
