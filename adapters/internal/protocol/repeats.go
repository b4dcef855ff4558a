package protocol

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/newest"
)

// Repeats marks the handler of a protocol whose clients repeat the conversation in each
// request: package httpapi then skips the older messages of a large body.
func Repeats(h http.Handler, list newest.List) http.Handler { return &repeating{h, list} }

type repeating struct {
	handler http.Handler
	list    newest.List
}

// ServeHTTP implements http.Handler.
func (h *repeating) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// Repeated returns the list of messages in the requests of a handler that [Repeats] has
// marked.
func Repeated(h http.Handler) (list newest.List, ok bool) {
	marked, ok := h.(*repeating)
	if !ok {
		return list, false
	}
	return marked.list, true
}

// Skipped returns the number of messages that are missing before the first one in the body
// of a request.
func Skipped(r *http.Request) int {
	if s, ok := r.Body.(interface{ Skipped() int }); ok {
		return s.Skipped()
	}
	return 0
}
