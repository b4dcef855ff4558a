package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
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
	// Healthy returns why the process should be replaced, which /health tells
	// everybody; nil: there is no reason, ever.
	Healthy func() error
}

type api struct {
	Options
	mux *http.ServeMux
}

// New returns the handler of all routes. It panics when two patterns conflict.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Authenticate == nil {
		o.Authenticate = nobody
	}
	a := &api{Options: o, mux: http.NewServeMux()}
	a.register(a.mux)
	for pattern, handler := range o.Mounts { // behind serve like the routes: identity and limits hold for them
		a.mux.Handle(pattern, handler)
	}
	return a
}

// health says the same whether it is asked if the process is ready or if it is
// alive: what makes it unhealthy only goes away with it.
func (a *api) health(w http.ResponseWriter, _ *http.Request) {
	if a.Healthy != nil {
		if err := a.Healthy(); err != nil {
			protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: err.Error()})
			return
		}
	}
	protocol.JSON(w, http.StatusOK, health{Status: "healthy"})
}

type health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}
