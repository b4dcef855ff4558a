package lambda

import (
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// Handlers makes the handlers of Lambda functions; the zero value works. Each handler
// keeps no state between invocations and may run several times concurrently in one
// process.
type Handlers struct {
	Env    *env.Env     // nil: env.System()
	Logger *slog.Logger // nil: slog.Default()
	// Reserve is the time between the end of the context of a step, sweep or request and
	// the invocation's deadline: the time to hand the run on, or to write the end of a
	// response. It is never more than half of the time that remains. Default 5 s, and 2 s
	// for HTTP requests.
	Reserve time.Duration
}

// The reserves of handlers, and of those of HTTP requests.
const (
	defaultReserve     = 5 * time.Second
	defaultHTTPReserve = 2 * time.Second
)

// withDefaults returns h with every field set.
func (h Handlers) withDefaults(reserve time.Duration) Handlers {
	if h.Env == nil {
		h.Env = env.System()
	}
	if h.Logger == nil {
		h.Logger = slog.Default()
	}
	if h.Reserve <= 0 {
		h.Reserve = reserve
	}
	return h
}
