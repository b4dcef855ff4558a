package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// TestThePageIsShownWhenItIsAskedFor asks as a browser that has no token: the page is
// anybody's, what it shows is not.
func TestThePageIsShownWhenItIsAskedFor(t *testing.T) {
	e := env.System()
	bound, err := binding.Bind(e, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := demo.Parts(bound.Models)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := host.New(host.Options{Env: e, Store: memory.New(), Waker: nobody{}, Agents: parts, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	stranger := func(*http.Request) (core.Identity, error) {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "no token")
	}
	for _, test := range []struct {
		page bool
		path string
		want int
	}{
		{true, "/", 200}, {true, "/v1/approvals", 401}, {true, "/page/other", 401},
		{false, "/", 401},
	} {
		handler := web.Handler(web.Options{Runtime: rt, Authenticate: stranger, Logger: quiet, Page: test.page})
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, test.path, http.NoBody))
		if response.Code != test.want {
			t.Errorf("page %v: GET %s is %d, want %d", test.page, test.path, response.Code, test.want)
		}
	}
}
