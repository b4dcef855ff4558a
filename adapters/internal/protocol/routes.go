package protocol

import (
	"io"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
)

// Route serves one request of a protocol on behalf of a caller. If it returns an error,
// the server writes a refusal: a route returns an error only before it has written
// anything.
type Route = func(w http.ResponseWriter, r *http.Request, id core.Identity) error

// Routes returns the handler of a protocol's routes, by pattern of [http.ServeMux]. Each
// is called as by [Server.Handle]. The handler is built at its first request, see
// [Later].
func (v Server) Routes(routes map[string]Route) http.Handler {
	return Later(func() http.Handler {
		mux := http.NewServeMux()
		for pattern, route := range routes {
			mux.HandleFunc(pattern, v.Handle(route))
		}
		return mux
	})
}

// Handle returns a handler that calls a route with the identity of the caller, which
// package httpapi puts into the context. A request without an identity is unauthorized.
func (v Server) Handle(route Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requestlog.Of(r.Context()).Route(r)
		id, ok := core.IdentityFrom(r.Context())
		err := core.Errorf(core.CodeUnauthorized, "the request carries no identity")
		if ok {
			err = route(w, r, id)
		}
		if err != nil {
			Refuse(w, v.Log, err)
		}
	}
}

// Body reads the body of a request; package httpapi bounds its size. The body is empty
// afterwards, so that its memory is free as soon as the caller has decoded it.
func Body(r *http.Request) ([]byte, error) {
	if t, ok := r.Body.(interface{ Take() ([]byte, error) }); ok {
		return t.Take()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	return body, nil
}
