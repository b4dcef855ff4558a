package caller

import (
	"context"
	"encoding/json"
)

// Caller is one of [Token], [Context], [Signer] and [PoolUser]. A nil Caller means that
// nothing was verified.
type Caller interface{ verified() }

// Claims are the claims of a token, or the keys of a Lambda authorizer's context, whose
// values are JSON strings. Other values are omitted: a number, a list or an object names
// no tenant and no user.
type Claims map[string]string

// Texts returns the claims among the fields of a JSON object.
func Texts(fields map[string]json.RawMessage) Claims {
	found := Claims{}
	for name, value := range fields {
		var text *string
		if json.Unmarshal(value, &text) == nil && text != nil {
			found[name] = *text
		}
	}
	return found
}

// Token is the holder of a token whose signature, issuer and time were verified.
type Token struct {
	Claims   Claims
	Audience []string // the claim "aud"
}

// Context is the context that a Lambda authorizer returned for a request that it allowed.
type Context struct{ Claims Claims }

// Signer signed the request as a principal of IAM.
type Signer struct {
	// ID is the unique id: "AIDA..." of a user, "AROA...:session" of an assumed
	// role, where the caller chose the session.
	ID      string
	Account string // 12 digits; the account that the principal belongs to
}

// PoolUser signed the request with credentials of a Cognito identity pool.
type PoolUser struct {
	// Pool and Identity are "region:uuid". Both are empty at a Function URL, which
	// cannot tell the users of a pool apart.
	Pool, Identity string
	Authenticated  bool // false: a guest
}

func (Token) verified()    {}
func (Context) verified()  {}
func (Signer) verified()   {}
func (PoolUser) verified() {}

type key struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the caller of a request, nil when nothing was verified.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}
