package httpapi

import (
	_ "embed"
	"net/http"
	"reflect"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
)

//go:generate go test -run TestWhatIsWrittenOfTheRoutes -update .

// document is the OpenAPI document of [allRoutes]. It is made beforehand, so that a start
// costs nothing for it.
//
//go:embed openapi.json
var document []byte

// route is one route of the native API: how the server handles a request, and how the
// OpenAPI document and README.md describe it. The zero value of a type gives its shape: the
// keys that a decoder accepts, or those that an encoder writes.
type route struct {
	Method, Path string // Path with {thread}, {run} and so on, as http.ServeMux has it
	Name         string // of the operation, unique
	Text         string // sentences of CommonMark; the first is the summary
	Open         bool   // it needs no identity
	// Takes are structs of parameters: a field's tag "in" is its place (path, query or
	// header), its tag "json" its name.
	Takes []any
	Body  any  // nil: none, or {}
	Empty bool // Body may be missing
	// Answers are its successes.
	Answers []answer
	// Refuses are the codes of the route's specific refusals. Those of every route are
	// not among them: [common].
	Refuses []core.Code

	serve func(*api, http.ResponseWriter, *http.Request, core.Identity) error
	plain func(*api, http.ResponseWriter, *http.Request) // instead of serve, of an open route
}

// answer is a response that is not a refusal.
type answer struct {
	Status int
	Text   string // when, if not always
	Body   any    // JSON; nil: none
	Stream bool   // server-sent events instead, whose data fields are Body
	Raw    bool   // JSON of no type of ours
}

// refusal is the status and the code of a refusal.
type refusal struct {
	Status int
	Code   core.Code
}

// common are the refusals of every route that authenticates: those of authentication, of
// the limits of bodies, and of failures.
func common() []refusal {
	return []refusal{
		{http.StatusBadRequest, core.CodeInvalid},
		{http.StatusUnauthorized, core.CodeUnauthorized},
		{http.StatusForbidden, core.CodeDenied},
		{http.StatusRequestTimeout, core.CodeInvalid},
		{http.StatusRequestEntityTooLarge, core.CodeTooLarge},
		{http.StatusUnsupportedMediaType, core.CodeUnsupported},
		{http.StatusInternalServerError, core.CodeInternal},
		{http.StatusServiceUnavailable, core.CodeUnavailable},
	}
}

// openapi is the document. The caller is authenticated: routes are public knowledge, but
// a stranger learns nothing here.
func (a *api) openapi(w http.ResponseWriter, _ *http.Request, _ core.Identity) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(document) // a client that is gone needs nothing
	return nil
}

// route returns the function that finds the route or the mount of a request: both come
// after serve, so that identity and limits hold for mounts, too. Forty routes take a
// thirtieth of a function's start, and most requests are a protocol's: while all mounts
// are separate from the routes, the routes are made at the first request that is for no
// mount.
func (a *api) route() http.Handler {
	mounts := http.NewServeMux()
	for pattern, handler := range a.options.Mounts {
		if !apart(pattern) {
			return a.all() // now: what contradicts a route ends the start
		}
		mounts.Handle(pattern, mounted(handler))
	}
	mounts.Handle("/", protocol.Later(a.all))
	return mounts
}

// mounted notes where a handler is mounted, since its routes may not be of package protocol.
func mounted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requestlog.Of(r.Context()).Mount(r)
		handler.ServeHTTP(w, r)
	})
}

// routeRoots are the starts of all paths of [allRoutes], up to their first parameter, without
// those that start with another of them. They are written down since to make all routes takes
// longer than all else that a start does for them.
var routeRoots = [...]string{
	"/health", "/openapi.json", "/v1/agents", "/v1/approvals", "/v1/capabilities", "/v1/limits", "/v1/runs", "/v1/threads", "/v1/usage",
}

// apart reports whether no path can be both a mount's and a route's.
func apart(pattern string) bool {
	at, _, _ := strings.Cut(pattern, "{")
	if !strings.HasPrefix(at, "/") { // it has a method or a host
		return false
	}
	for _, root := range routeRoots {
		if strings.HasPrefix(at, root) || strings.HasPrefix(root, at) {
			return false
		}
	}
	return true
}

// parameters are the names that a route's query may have.
func (r *route) parameters() (names []string) {
	for _, takes := range r.Takes {
		t := reflect.TypeOf(takes)
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("in") == "query" {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				names = append(names, name)
			}
		}
	}
	return names
}

// all returns the mux of the routes and the mounts.
func (a *api) all() http.Handler {
	mux := http.NewServeMux()
	for _, r := range allRoutes() {
		handler := func(w http.ResponseWriter, request *http.Request) {
			requestlog.Of(request.Context()).Route(request)
			r.plain(a, w, request)
		}
		if r.plain == nil {
			handler = a.Handle(func(w http.ResponseWriter, request *http.Request, id core.Identity) error {
				if request.URL.RawQuery != "" {
					if _, err := query(request.URL.RawQuery, r.parameters()...); err != nil {
						return err
					}
				}
				return r.serve(a, w, request, id)
			})
		}
		mux.HandleFunc(r.Method+" "+r.Path, handler)
	}
	for pattern, handler := range a.options.Mounts {
		mux.Handle(pattern, mounted(handler))
	}
	return mux
}
