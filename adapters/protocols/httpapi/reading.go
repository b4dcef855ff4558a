package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

const (
	// mostReading is how many requests may prepare a response at a time that only reads: a
	// page of 3 MB takes several times its size until it is encoded.
	mostReading = 16
	// readingWithin is how long a request waits for its turn.
	readingWithin = 10 * time.Second
)

// errReading is refused with 503.
var errReading = core.Errorf(core.CodeThrottled, "more than %d requests read at a time, and this one has waited for %s: try again", mostReading, readingWithin)

// readers are the turns of requests that only read. A turn ends with the response's first
// byte: to wait for a slow client takes none.
type readers chan struct{}

// enter waits for a turn. leave may be called more than once.
func (t readers) enter(ctx context.Context, e *env.Env) (leave func(), err error) {
	select {
	case t <- struct{}{}:
	default:
		if err := t.wait(ctx, e); err != nil {
			return nil, err
		}
	}
	held := true
	return func() {
		if held {
			held = false
			<-t
		}
	}, nil
}

// wait is enter where no turn is free.
func (t readers) wait(ctx context.Context, e *env.Env) error {
	within, cancel := e.WithTimeout(ctx, readingWithin)
	defer cancel()
	select {
	case t <- struct{}{}:
		return nil
	case <-within.Done():
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errReading
	}
}

// reads reports whether a request only reads, without a stream: a stream may be silent
// for long before its first byte. Health costs nothing, and must respond even if all
// turns are taken: otherwise the process would be replaced.
func reads(r *http.Request) bool {
	if r.URL.Path == "/health" || r.URL.Path == "/health/live" {
		return false
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasSuffix(r.URL.Path, "/stream")
}

// refuseReading writes the refusal of a request that has waited in vain.
func refuseReading(w http.ResponseWriter) {
	w.Header().Set("Retry-After", strconv.Itoa(int(readingWithin/time.Second)))
	protocol.JSON(w, http.StatusServiceUnavailable, protocol.Problem{Error: errReading.Error(), Code: core.CodeOf(errReading)})
}
