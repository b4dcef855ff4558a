package core

import "context"

// Identity is the owner of a request: a tenant and one of its users. It comes from verified
// claims, never from a path or a body.
type Identity struct {
	Tenant string
	User   string // empty: any user of the tenant
}

type identityKey struct{}

// WithIdentity returns a context that carries the identity.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	if had, ok := IdentityFrom(ctx); ok && had == id {
		return ctx
	}
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityFrom returns the identity of a request; ok is false when the request has none,
// which a handler must refuse with [CodeUnauthorized].
func IdentityFrom(ctx context.Context) (id Identity, ok bool) {
	id, ok = ctx.Value(identityKey{}).(Identity)
	return id, ok
}
