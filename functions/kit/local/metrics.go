package local

import (
	"context"
	"net/http"

	"github.com/reveille-run/reveille/adapters/outbound/metrics"
	"github.com/reveille-run/reveille/core/store"
)

// newMetrics returns the metrics of the host. The runtime, which they read, is built later,
// but before the first request for metrics.
func (h *localHost) newMetrics(backend store.Backend, tenant string) *metrics.Metrics {
	return metrics.New(metrics.Options{
		Queue:          h.queue.hints.Depth,
		Working:        func() int { return h.runtime.Stats().Working },
		Followers:      func() int { return h.runtime.Stats().Followers },
		Waiting:        func(ctx context.Context) (int, error) { return countWaiting(ctx, backend, tenant) },
		Abandoned:      func() int { return h.runtime.Stats().Abandoned },
		EffectFailures: func() int64 { return h.runtime.Stats().EffectFailures },
		Log:            h.log,
	})
}

// The limits of the number of waiting threads that a scrape reads.
const (
	waitingPage = 200
	mostWaiting = 10 * waitingPage
)

// countWaiting counts the threads that wait for a decision, up to mostWaiting.
func countWaiting(ctx context.Context, backend store.Backend, tenant string) (n int, err error) {
	var after *store.Waiting
	for n < mostWaiting {
		page, err := backend.Waiting(ctx, tenant, after, waitingPage)
		n += len(page)
		if err != nil || len(page) < waitingPage {
			return n, err
		}
		after = &page[len(page)-1]
	}
	return n, nil
}

// showMetrics responds to GET /metrics and passes all other requests to next.
func (h *localHost) showMetrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			h.metrics.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
