package httpapi

import (
	"net/http"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// response holds back refusals that are not JSON (those of http.ServeMux and of
// libraries) and converts them. Everything else passes through. It has no lock: a
// stream's loop writes to it from a separate goroutine, but the handler does not use it
// during that time, and finish is called when the loop has ended.
type response struct {
	http.ResponseWriter
	sent   bool   // the header is out
	status int    // of a refusal that is held back; 0: none
	text   []byte // its body
	// prepared is called before the first byte of a body leaves; may be nil.
	prepared func()
}

// maxRefusal is how much of a held back body is kept: a sentence.
const maxRefusal = 1024

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.sent || w.status != 0 {
		return
	}
	if status >= 300 && status != http.StatusNotModified && !structured(w.Header().Get("Content-Type")) {
		w.status = status
		return
	}
	w.sent = status >= 200
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	if w.status != 0 {
		w.text = append(w.text, b[:min(len(b), maxRefusal-len(w.text))]...)
		return len(b), nil
	}
	w.sent = true
	if w.prepared != nil {
		w.prepared()
	}
	return w.ResponseWriter.Write(b)
}

// FlushError implements what http.ResponseController looks for.
func (w *response) FlushError() error {
	if w.status != 0 {
		return nil
	}
	w.sent = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController the way to deadlines.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// finish sends a refusal that was held back.
func (w *response) finish(r *http.Request) {
	if w.status == 0 {
		return
	}
	status, text := w.status, strings.TrimSpace(string(w.text))
	w.discard()
	p := protocol.Problem{Error: text, Code: codeOf(status)}
	switch {
	case status < 400 || status == http.StatusNotFound:
		status, p = http.StatusNotFound, protocol.Public(noRoute(r)) // a redirect of ServeMux too
	case status == http.StatusMethodNotAllowed:
		p.Error = r.Method + " is not allowed here, allowed are " + w.Header().Get("Allow")
	case text == "":
		p.Error = http.StatusText(status)
	}
	protocol.JSON(w, status, p)
}

// discard forgets a refusal that was held back.
func (w *response) discard() {
	w.status, w.text = 0, nil
	for _, name := range []string{"Location", "Content-Length", "Content-Encoding"} {
		w.Header().Del(name)
	}
}

// structured reports whether a body is of a kind that this server writes itself.
func structured(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(contentType, "text/event-stream")
}

// codeOf is the reverse of protocol.Status for refusals that came without a code.
func codeOf(status int) core.Code {
	switch status {
	case http.StatusUnauthorized:
		return core.CodeUnauthorized
	case http.StatusForbidden:
		return core.CodeForbidden
	case http.StatusMethodNotAllowed:
		return core.CodeMethod
	case http.StatusNotAcceptable:
		return core.CodeNotAcceptable
	case http.StatusConflict:
		return core.CodeConflict
	case http.StatusRequestEntityTooLarge:
		return core.CodeTooLarge
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return core.CodeThrottled
	}
	if status >= 500 {
		return core.CodeInternal
	}
	return core.CodeInvalid
}
