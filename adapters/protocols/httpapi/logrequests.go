package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core/env"
)

// LogRequests logs one line "request" for each request to h, when its response has ended:
// method, route (the pattern), request (an id, which the response has in the header
// X-Request-Id), tenant, thread and run, status, ms, bytes, and for streams how they ended.
// Lines of health checks have level debug, others the given one. The functions on AWS log
// these lines by themselves. The handler is for a server of net/http, outside of every other
// handler.
func LogRequests(e *env.Env, log *slog.Logger, level slog.Level, h http.Handler) http.Handler {
	return requestlog.Handler(h, requestlog.Options{Env: e, Log: log, Level: level})
}
