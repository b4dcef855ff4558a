package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Options configures [New].
type Options struct {
	protocol.Options // of the native routes; the mounted handlers have their own

	// Authenticate says who sent a request, from verified claims. An error is
	// refused with 401 unless it has another code. nil refuses every request.
	Authenticate func(*http.Request) (core.Identity, error)

	// Mounts are the protocols' handlers by ServeMux pattern, such as
	// "/v1/ai-sdk/". They find the identity in the context.
	Mounts map[string]http.Handler
	// Usage reads what tenants have used; nil: the Runtime does, if it is a Ledger.
	Usage Ledger
	// UsageReaders are users who are shown what everybody of their tenant has used, and not
	// their own alone; "*" is every user.
	UsageReaders []string
	// MaxRequests is how many requests the transport has under way at a time, which clients
	// are told; 0: it has no bound of its own. The transport keeps it.
	MaxRequests int
	// Healthy returns why the process should be replaced, which /health tells
	// everybody; nil: there is no reason, ever.
	Healthy func() error
	// Ready returns why requests cannot be served now, such as a store that cannot be
	// reached, for /health; its text stays inside. It is asked once a second at most.
	// nil: they always can.
	Ready func(context.Context) error
}

type api struct {
	Options
	mux       http.Handler
	readiness readiness
	readers   readers
}

// New returns the handler of all routes, within the bounds of [protocol.Bound]. It panics
// when two patterns conflict.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Authenticate == nil {
		o.Authenticate = nobody
	}
	if ledger, ok := o.Runtime.(Ledger); ok && o.Usage == nil {
		o.Usage = ledger
	}
	a := &api{Options: o, readers: make(readers, mostReading)}
	a.mux = a.route()
	return protocol.Bound(a)
}

// health says whether the process should be replaced, or cannot serve for now.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	if a.Healthy != nil {
		if err := a.Healthy(); err != nil {
			protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: err.Error()})
			return
		}
	}
	if a.Ready != nil {
		if err := a.readiness.ask(r.Context(), a.Env, a.Ready); err != nil {
			protocol.Log(a.Log, err)
			protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: "the store cannot be reached"})
			return
		}
	}
	protocol.JSON(w, http.StatusOK, health{Status: "healthy"})
}

// live says that the process answers, and nothing else.
func (a *api) live(w http.ResponseWriter, _ *http.Request) {
	protocol.JSON(w, http.StatusOK, health{Status: "alive"})
}

// readiness remembers an answer for a second: whoever asks is nobody in particular, and
// must not cost the store a read with each request.
type readiness struct {
	mu   sync.Mutex // also while the store is asked: others wait for the same answer
	at   time.Time
	err  error
	once bool // it was asked
}

const (
	readyFor    = time.Second
	readyWithin = 2 * time.Second // for the store's answer
)

func (r *readiness) ask(ctx context.Context, e *env.Env, ready func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := e.Now(); !r.once || now.Sub(r.at) >= readyFor {
		within, cancel := e.WithTimeout(context.WithoutCancel(ctx), readyWithin) // who asks may leave: others have asked too
		defer cancel()
		r.err = ready(within)
		r.at, r.once = e.Now(), true
	}
	return r.err
}

type health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}
