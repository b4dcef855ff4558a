package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/functions/settings"
)

// identity is what a request with these authorizer fields is taken for.
func identity(t *testing.T, authenticate func(*http.Request) (core.Identity, error), authorizer string) (id core.Identity, err error) {
	t.Helper()
	event := `{"version":"2.0","rawPath":"/","headers":{},"requestContext":{"http":{"method":"GET","path":"/"},"authorizer":` + authorizer + `}}`
	answer := awslambda.Buffered(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, err = authenticate(r)
	}), awslambda.HTTPOptions{})
	if _, failure := answer(context.Background(), json.RawMessage(event)); failure != nil {
		t.Fatal(failure)
	}
	return id, err
}

func TestGatewayIdentity(t *testing.T) {
	authenticate, err := Authenticate(settings.Settings{Auth: settings.AuthGateway})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, authorizer string
		want             core.Identity
		code             core.Code
	}{
		{"a token with a tenant", `{"jwt":{"claims":{"sub":"u1","tenant":"acme"}}}`, core.Identity{Tenant: "acme", User: "u1"}, ""},
		{"a token without", `{"jwt":{"claims":{"sub":"u1"}}}`, core.Identity{Tenant: "default", User: "u1"}, ""},
		{"a signed request", `{"iam":{"userId":"AROA:ada@example.com"}}`, core.Identity{Tenant: "default", User: "sha256-be17288249c6b204bc5eedd5443003d5"}, ""},
		{"a token that names nobody", `{"jwt":{"claims":{"tenant":"acme"}}}`, core.Identity{}, core.CodeUnauthorized},
		{"no authorizer", `null`, core.Identity{}, core.CodeUnauthorized},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := identity(t, authenticate, test.authorizer)
			if got != test.want || core.CodeOf(err) != test.code {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

func TestAuthMustBeSaid(t *testing.T) {
	_, err := Authenticate(settings.Settings{})
	if want := "environment variable REVEILLE_AUTH is required here, allowed: none, gateway"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
