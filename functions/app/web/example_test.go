package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// site adds a page to the routes, as functions/README.md shows it.
func site(o web.Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler(o))
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		id, err := o.Authenticate(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "Hello, %s. Ask %s something.", id.Tenant, o.Runtime.DefaultAgent())
	})
	return mux
}

// nobody is a queue whose hints nobody reads.
type nobody struct{}

func (nobody) Wake(context.Context, core.WakeUp, time.Duration) error { return nil }

// A page, and the routes of the deployment.
func Example() {
	e := env.System()
	bound, err := binding.Bind(e, settings.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := demo.Parts(bound.Models)
	if err != nil {
		fmt.Println(err)
		return
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := host.New(host.Options{Env: e, Store: memory.New(), Waker: nobody{}, Agents: parts, Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := site(web.Options{Runtime: rt, Authenticate: httpapi.Anonymous("acme"), Logger: quiet})
	for _, path := range []string{"/hello", "/v1/threads/t9"} {
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Println(response.Code, response.Body)
	}
	// Output:
	// 200 Hello, acme. Ask demo something.
	// 404 {"error":"thread t9 not found","code":"not_found"}
}
