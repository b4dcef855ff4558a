package caller

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Errors of every policy have code [core.CodeUnauthorized] when the caller is
// not proven to be somebody, and [core.CodeDenied] when it is, but has no place
// here.
var errUnverified = core.Errorf(core.CodeUnauthorized, "the request carries no credentials of the kind that is accepted here")

// The values of the claim token_use, by which Cognito tells its tokens apart.
const (
	UseID     = "id"
	UseAccess = "access"
)

// Tenant says where the tenant of a caller comes from: exactly one field is set.
type Tenant struct {
	Constant string // everybody is of this tenant
	Claim    string // name of the claim or key; who has none is refused
}

func (t Tenant) of(c Claims) (string, error) {
	if t.Constant != "" {
		return t.Constant, nil
	}
	tenant := c[t.Claim]
	// A list arrives as text such as "[a b]", which is no name. It must not be
	// hashed into one: nobody meant such a tenant.
	if core.CheckName("tenant", tenant) != nil {
		return "", core.Errorf(core.CodeUnauthorized, "the verified claim %q names no tenant", t.Claim)
	}
	return tenant, nil
}

// Tokens is the policy for holders of tokens. The user is the claim "sub".
type Tokens struct {
	Tenant Tenant
	// Issuer is the claim "iss", to the last slash. Empty: whoever verified the
	// token has looked at it.
	Issuer string
	// Clients are the applications that tokens must be for: in "aud" or, of an
	// access token of Cognito, "client_id". Empty: any.
	Clients []string
	// Use is the required claim "token_use". A token without that claim is not of
	// Cognito and passes as [UseID]. Empty is UseID.
	Use string
}

// Identity returns whom a [Token] stands for.
func (p Tokens) Identity(c Caller) (core.Identity, error) {
	token, ok := c.(Token)
	if !ok {
		return core.Identity{}, errUnverified
	}
	if err := p.check(token); err != nil {
		return core.Identity{}, err
	}
	return identity(p.Tenant, token.Claims, "sub")
}

func (p Tokens) check(t Token) error {
	if p.Issuer != "" && t.Claims["iss"] != p.Issuer {
		return core.Errorf(core.CodeUnauthorized, "the token is of another issuer")
	}
	use, marked := t.Claims["token_use"]
	if p.Use == UseAccess && use != UseAccess || p.Use != UseAccess && marked && use != UseID {
		return core.Errorf(core.CodeUnauthorized, "the token is of another use")
	}
	audience := t.Audience
	if use == UseAccess {
		audience = []string{t.Claims["client_id"]}
	}
	known := func(client string) bool { return slices.Contains(p.Clients, client) }
	if len(p.Clients) > 0 && !slices.ContainsFunc(audience, known) {
		return core.Errorf(core.CodeUnauthorized, "the token is for another client")
	}
	return nil
}

// Contexts is the policy for requests that a Lambda authorizer allowed.
type Contexts struct {
	Tenant Tenant
	User   string // key of its context that names the user
}

// Identity returns whom a [Context] stands for.
func (p Contexts) Identity(c Caller) (core.Identity, error) {
	context, ok := c.(Context)
	if !ok {
		return core.Identity{}, errUnverified
	}
	return identity(p.Tenant, context.Claims, p.User)
}

func identity(t Tenant, c Claims, user string) (core.Identity, error) {
	tenant, err := t.of(c)
	if err != nil {
		return core.Identity{}, err
	}
	if c[user] == "" {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "the verified claim %q names no user", user)
	}
	return core.Identity{Tenant: tenant, User: name(c[user])}, nil
}

// Signers is the policy for signed requests: the tenant of each Cognito identity
// pool ("region:uuid"), each user or role ("AIDA...", "AROA...") and each account
// (12 digits). A principal that is not named belongs to its account's tenant; a
// pool does not.
type Signers map[string]string

// Identity returns whom a [Signer] or [PoolUser] stands for.
func (p Signers) Identity(c Caller) (core.Identity, error) {
	switch c := c.(type) {
	case Signer:
		return p.signer(c)
	case PoolUser:
		return p.poolUser(c)
	}
	return core.Identity{}, errUnverified
}

func (p Signers) signer(s Signer) (core.Identity, error) {
	// The root user and federated users have an id that begins with the account's
	// number; what follows it is again the caller's own choice.
	id, _, _ := strings.Cut(s.ID, ":")
	principal := strings.HasPrefix(id, "AIDA") || strings.HasPrefix(id, "AROA")
	tenant := p[id]
	if tenant == "" {
		tenant = p[s.Account]
	}
	if !principal || tenant == "" || core.CheckName("user", id) != nil {
		return core.Identity{}, core.Errorf(core.CodeDenied, "this principal has no tenant here")
	}
	return core.Identity{Tenant: tenant, User: "iam:" + id}, nil
}

func (p Signers) poolUser(u PoolUser) (core.Identity, error) {
	tenant := p[u.Pool]
	if u.Pool == "" || tenant == "" {
		return core.Identity{}, core.Errorf(core.CodeDenied, "this identity pool has no tenant here")
	}
	if !u.Authenticated || core.CheckName("user", u.Identity) != nil {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "this user of the identity pool is not signed in")
	}
	return core.Identity{Tenant: tenant, User: "cip:" + u.Identity}, nil
}

// hashed begins the names that stand for claims that are none.
const hashed = "sha256-"

// name makes a user's name of a claim: many issuers put characters into "sub"
// that an id must not have, such as the bar of "auth0|5f7c"; a hash stands for
// these. It stands too for what looks like the name of somebody whom another
// policy vouches for, who may have used the deployment before.
func name(claim string) string {
	reserved := func(prefix string) bool { return strings.HasPrefix(claim, prefix) }
	if core.CheckName("user", claim) == nil && !slices.ContainsFunc([]string{"iam:", "cip:", hashed}, reserved) {
		return claim
	}
	sum := sha256.Sum256([]byte(claim))
	return hashed + hex.EncodeToString(sum[:16])
}
