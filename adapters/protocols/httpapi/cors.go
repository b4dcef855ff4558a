package httpapi

import (
	"net/http"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
)

// The requests and responses that pages of other origins may use, in addition to those of
// every page. template.yaml configures the same for the front ends that implement CORS
// themselves.
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsRequest = "authorization, content-type, last-event-id, idempotency-key, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, " +
		"x-amz-date, x-amz-security-token, x-amz-content-sha256"
	corsResponse = "x-vercel-ai-ui-message-stream, mcp-session-id, retry-after, location, x-request-id"
	corsMaxAge   = "600" // seconds for which a browser remembers a preflight
)

// CORS lets pages of these origins call h, such as "https://app.example": exact
// origins only, since "*" allows no Authorization header. It responds to their
// preflights itself, before authentication, since a preflight has no credentials. For other
// origins it sets no header, and their browsers keep the response from the page. A front
// end before it must not add these headers too: browsers refuse a doubled header.
func CORS(origins []string, h http.Handler) http.Handler {
	if len(origins) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Also without an origin, or a cache would give that response to a page.
		w.Header().Add("Vary", "Origin")
		origin := r.Header.Values("Origin")
		if len(origin) != 1 || !slices.Contains(origins, origin[0]) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin[0])
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			requestlog.Of(r.Context()).Named("preflight")
			w.Header().Set("Access-Control-Allow-Methods", corsMethods)
			w.Header().Set("Access-Control-Allow-Headers", corsRequest)
			w.Header().Set("Access-Control-Max-Age", corsMaxAge)
			w.Header().Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Access-Control-Expose-Headers", corsResponse)
		h.ServeHTTP(w, r)
	})
}
