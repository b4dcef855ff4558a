package local

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
)

// watchFile responds to /health where the file is what ails the host, and passes
// everything else on. It looks at the file but neither reads nor writes it.
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

// unhealthy responds as httpapi does where a host is.
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

// ailing returns why the file keeps nothing more at present, without its path;
// "" while it does.
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
	return "the data file cannot be written; the log says why"
}
