package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/core"
)

// Anonymous accepts every request as the given tenant, with no user. It is for
// REVEILLE_AUTH=none, which outside a developer's machine opens the server to
// everybody who reaches it.
func Anonymous(tenant string) func(*http.Request) (core.Identity, error) {
	return func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: tenant}, nil }
}

func nobody(*http.Request) (core.Identity, error) {
	return core.Identity{}, core.Errorf(core.CodeUnauthorized, "no authentication is configured")
}

func (a *api) authenticate(r *http.Request) (core.Identity, error) {
	id, err := a.Authenticate(r)
	if err != nil {
		if core.CodeOf(err) == core.CodeInternal { // it has no code of its own
			err = core.Errorf(core.CodeUnauthorized, "%w", err)
		}
		return id, err
	}
	// Claims become keys in the store.
	if err := core.CheckName("tenant", id.Tenant); err != nil {
		return id, core.Errorf(core.CodeUnauthorized, "identity: %w", err)
	}
	if id.User != "" {
		if err := core.CheckName("user", id.User); err != nil {
			return id, core.Errorf(core.CodeUnauthorized, "identity: %w", err)
		}
	}
	return id, nil
}
