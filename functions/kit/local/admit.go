package local

import (
	"fmt"
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
)

// admit counts the open requests, and refuses a request if there are more than most. It never
// refuses a request for the health of the host.
func (h *localHost) admit(most int, next http.Handler) http.Handler {
	full := fmt.Sprintf("%d requests are open, which is the limit (REVEILLE_MAX_REQUESTS): try again later", most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := h.open.Add(1)
		defer h.open.Add(-1)
		if n > int64(most) && r.URL.Path != "/health" && r.URL.Path != "/health/live" {
			w.Header().Set("Retry-After", "1")
			httpapi.Refuse(w, http.StatusServiceUnavailable, core.CodeThrottled, full)
			return
		}
		next.ServeHTTP(w, r)
	})
}
