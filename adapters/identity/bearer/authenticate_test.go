package bearer

import (
	"net/http"
	"net/http/httptest"
	"testing"

	identity "github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// The token of the request counts, and never what an event says about one.
func TestTheTokenOfTheRequestCounts(t *testing.T) {
	i := newIssuer(t)
	tokens := identity.Tokens{Tenant: "acme", Issuer: issuer, Clients: []string{"a"}}
	authenticate, err := New(Options{Env: env.System(), Tokens: tokens, Transport: i})
	if err != nil {
		t.Fatal(err)
	}
	said := caller.Token{Claims: caller.Claims{"iss": issuer, "sub": "root"}, Audience: []string{"a"}}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r = r.WithContext(caller.With(r.Context(), said))
	if got, err := authenticate(r); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("without a token: %+v, %v", got, err)
	}
	r.Header.Set("Authorization", "Bearer "+i.token("k1"))
	if got, err := authenticate(r); err != nil || got != (core.Identity{Tenant: "acme", User: "u"}) {
		t.Errorf("identity %+v, error %v", got, err)
	}
	tokens.Clients = []string{"c"}
	other, err := New(Options{Env: env.System(), Tokens: tokens, Transport: i})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other(r); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("a token for another client: %+v, %v", got, err)
	}
}
