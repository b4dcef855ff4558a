package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/core"
)

// Anonymous accepts every request as the given tenant, with no user. It is for
// REVEILLE_AUTH=none, which outside a developer's machine opens the server to
// every client that reaches it.
func Anonymous(tenant string) func(*http.Request) (core.Identity, error) {
	return func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: tenant}, nil }
}

// nobody is the default of Options.Authenticate: a server that was not configured is
// closed, not open.
func nobody(*http.Request) (core.Identity, error) {
	return core.Identity{}, core.Errorf(core.CodeUnauthorized, "no authentication is configured")
}

// authenticate determines the sender of a request. It is the only place that does: from
// here on the identity is in the context, and no later code reads headers for it.
func (a *api) authenticate(r *http.Request) (core.Identity, error) {
	id, err := a.options.Authenticate(r)
	if err != nil {
		if core.CodeOf(err) == core.CodeInternal { // it has no specific code
			err = core.Errorf(core.CodeUnauthorized, "%w", err)
		}
		return id, err
	}
	// Claims become keys in the store, where a control byte or a separator in a tenant's
	// name could reach another's partition.
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
