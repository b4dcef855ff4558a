package local

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
)

// watchFile responds to /health if the file has a problem, and passes all other requests to
// next. It checks the file but neither reads nor writes it.
func (h *localHost) watchFile(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/health" {
			if reason := h.ailing(); reason != "" {
				unhealthy(w, reason)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// unhealthy responds as httpapi does for an unhealthy host.
func unhealthy(w http.ResponseWriter, reason string) {
	body, _ := core.EncodeJSON(struct { // texts always encode
		Status string `json:"status"`
		Reason string `json:"reason"`
	}{"unhealthy", reason})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs nothing
}

// ailing returns the reason why the file cannot store records, without its path; "" if it
// can.
func (h *localHost) ailing() string {
	if h.file == nil {
		return ""
	}
	if err := h.file.Check(); errors.Is(err, bolt.ErrReplaced) {
		return bolt.ErrReplaced.Error()
	} else if err != nil {
		return "the data file is damaged"
	}
	err := h.file.Failing()
	if err == nil {
		return ""
	}
	var cause syscall.Errno
	if errors.As(err, &cause) {
		return fmt.Sprintf("the data file cannot be written: %v", cause)
	}
	return "the data file cannot be written; the log has the reason"
}
