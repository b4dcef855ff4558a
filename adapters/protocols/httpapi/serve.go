package httpapi

import (
	"net/http"
	"path"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// ServeHTTP implements http.Handler. It is the only place where a request fails: if serve
// returns an error, or panics, before the response has started, it becomes a refusal
// here. Handlers run concurrently; the state of one request is in response and the
// context.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	err := env.Protect(func() error { return a.serve(out, r) })
	switch {
	case err == nil:
		out.finish(r)
	case aborted(err):
		panic(http.ErrAbortHandler)
	case out.sent:
		// Closing the connection is the only remaining way to report that the response is
		// incomplete.
		protocol.Log(a.Log, err)
		panic(http.ErrAbortHandler)
	default:
		out.discard()
		protocol.Refuse(out, a.Log, err)
	}
}

// serve is the order of the checks: who asks, before anything else is said about the
// request; the path; the body; the route. So a stranger learns neither which routes
// there are nor how large a body may be, and costs no memory for one.
func (a *api) serve(w *response, r *http.Request) error {
	if r.URL.Path != "/health" && r.URL.Path != "/health/live" {
		id, err := a.authenticate(r)
		if err != nil {
			if core.CodeOf(err) == core.CodeUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			return err
		}
		requestlog.Of(r.Context()).Tenant(id.Tenant)
		r = r.WithContext(core.WithIdentity(r.Context(), id))
	}
	// Escaped, as ServeMux looks at it: an id of encoded dots reaches its route, which names it.
	if at := r.URL.EscapedPath(); path.Clean(at) != at && path.Clean(at)+"/" != at {
		return noRoute(r) // ServeMux would redirect
	}
	done, err := a.limit(r)
	defer done()
	w.prepared = done
	switch {
	case err == errArriving:
		refuseArriving(w)
		return nil
	case err == errMediaType, err == protocol.ErrForm:
		protocol.JSON(w, http.StatusUnsupportedMediaType, protocol.Public(err))
		return nil
	case err == errSlowBody:
		protocol.JSON(w, http.StatusRequestTimeout, protocol.Public(err))
		return nil
	case err != nil:
		return err
	}
	// After the body, which may arrive slowly: a request that waits for its body takes no
	// turn.
	if reads(r) {
		leave, err := a.readers.enter(r.Context(), a.Env)
		if err == errReading {
			refuseReading(w)
			return nil
		}
		if err != nil {
			return err
		}
		w.prepared = func() { leave(); done() }
		defer leave()
	}
	a.mux.ServeHTTP(w, r)
	return nil
}

func noRoute(r *http.Request) error {
	return core.Errorf(core.CodeNotFound, "no route %s %s", r.Method, core.Excerpt(r.URL.Path))
}

// aborted reports a handler that cut its own connection, which net/http must see.
func aborted(err error) bool {
	p, ok := err.(*env.PanicError)
	return ok && p.Value == http.ErrAbortHandler
}
