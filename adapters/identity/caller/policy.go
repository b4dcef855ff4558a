package caller

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/core"
)

// Errors of every policy have code [core.CodeUnauthorized] if the caller's identity is
// not proven, and [core.CodeDenied] if it is proven but has no access here.
var errUnverified = core.Errorf(core.CodeUnauthorized, "the request has no accepted credentials")

// The values of the claim token_use, by which Cognito tells its tokens apart.
const (
	useID     = "id"
	useAccess = "access"
)

// authenticate asks a policy about the caller that was verified.
func authenticate(r *http.Request, policy func(caller.Caller) (core.Identity, error)) (core.Identity, error) {
	// Front ends differ in which of two values they look at.
	if len(r.Header.Values("Authorization")) > 1 {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "the header Authorization is given twice")
	}
	return policy(caller.From(r.Context()))
}

// tenancy is the source of a caller's tenant: exactly one of the two is set.
type tenancy struct{ constant, claim string }

func (t tenancy) of(c caller.Claims) (string, error) {
	if t.constant != "" {
		return t.constant, nil
	}
	tenant := c[t.claim]
	// A list arrives as text such as "[a b]", which is not a name. It must not be hashed
	// into one: the issuer meant no such tenant.
	if core.CheckName("tenant", tenant) != nil {
		return "", core.Errorf(core.CodeUnauthorized, "the verified claim %q names no tenant", t.claim)
	}
	return tenant, nil
}

// Tokens is the policy for holders of tokens. The user is the claim "sub".
type Tokens struct {
	// Tenant is the tenant of every caller. Alternatively, TenantClaim names the claim
	// with the tenant, and a caller without that claim is refused. Set exactly one of the
	// two.
	Tenant, TenantClaim string
	// Issuer is the required claim "iss", up to a trailing slash. Empty: the verifier of
	// the token checks it.
	Issuer string
	// Clients are the applications that tokens must be for: in "aud" or, of an
	// access token of Cognito, "client_id". Empty: any.
	Clients []string
	// Use is the required claim "token_use": "id" or "access"; empty: "id". A token
	// without that claim is not from Cognito and passes as one of use "id".
	Use string
}

// Authenticate returns the identity of the holder of a request's token, which a front end
// or package bearer has verified: a value of httpapi.Options.Authenticate.
func (p Tokens) Authenticate(r *http.Request) (core.Identity, error) {
	return authenticate(r, p.identity)
}

func (p Tokens) identity(c caller.Caller) (core.Identity, error) {
	token, ok := c.(caller.Token)
	if !ok {
		return core.Identity{}, errUnverified
	}
	if err := p.check(token); err != nil {
		return core.Identity{}, err
	}
	return identity(tenancy{p.Tenant, p.TenantClaim}, token.Claims, "sub")
}

func (p Tokens) check(t caller.Token) error {
	if p.Issuer != "" && t.Claims["iss"] != p.Issuer {
		return core.Errorf(core.CodeUnauthorized, "the token has another issuer")
	}
	use, marked := t.Claims["token_use"]
	if p.Use == useAccess && use != useAccess || p.Use != useAccess && marked && use != useID {
		return core.Errorf(core.CodeUnauthorized, "the token has another use")
	}
	audience := t.Audience
	if use == useAccess {
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
	// Tenant is the tenant of every caller. Alternatively, TenantClaim names the key of
	// its context with the tenant, and a caller without that key is refused. Set exactly
	// one of the two.
	Tenant, TenantClaim string
	User                string // key of its context that names the user
}

// Authenticate returns the identity of a caller that the authorizer allowed: a value of
// httpapi.Options.Authenticate.
func (p Contexts) Authenticate(r *http.Request) (core.Identity, error) {
	return authenticate(r, p.identity)
}

func (p Contexts) identity(c caller.Caller) (core.Identity, error) {
	context, ok := c.(caller.Context)
	if !ok {
		return core.Identity{}, errUnverified
	}
	return identity(tenancy{p.Tenant, p.TenantClaim}, context.Claims, p.User)
}

func identity(t tenancy, c caller.Claims, user string) (core.Identity, error) {
	tenant, err := t.of(c)
	if err != nil {
		return core.Identity{}, err
	}
	if c[user] == "" {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "the verified claim %q names no user", user)
	}
	return core.Identity{Tenant: tenant, User: name(c[user])}, nil
}

// Signers is the policy for signed requests. Its keys are Cognito identity pools
// ("region:uuid"), users and roles ("AIDA...", "AROA...") and accounts (12 digits); its
// values are their tenants. A principal without a key belongs to its account's tenant; a
// pool does not.
type Signers map[string]string

// Authenticate returns the identity of the signer of a request, which the front end has
// verified: a value of httpapi.Options.Authenticate.
func (p Signers) Authenticate(r *http.Request) (core.Identity, error) {
	return authenticate(r, p.identity)
}

func (p Signers) identity(c caller.Caller) (core.Identity, error) {
	switch c := c.(type) {
	case caller.Signer:
		return p.signer(c)
	case caller.PoolUser:
		return p.poolUser(c)
	}
	return core.Identity{}, errUnverified
}

func (p Signers) signer(s caller.Signer) (core.Identity, error) {
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

func (p Signers) poolUser(u caller.PoolUser) (core.Identity, error) {
	tenant := p[u.Pool]
	if u.Pool == "" || tenant == "" {
		return core.Identity{}, core.Errorf(core.CodeDenied, "this identity pool has no tenant here")
	}
	if !u.Authenticated || core.CheckName("user", u.Identity) != nil {
		return core.Identity{}, core.Errorf(core.CodeUnauthorized, "this user of the identity pool is not signed in")
	}
	return core.Identity{Tenant: tenant, User: "cip:" + u.Identity}, nil
}

// hashed begins the names that replace claims which are not valid names.
const hashed = "sha256-"

// name makes a user's name of a claim. Many issuers put characters into "sub" that an id
// must not have, such as the bar of "auth0|5f7c"; then the name is a hash. A claim that
// looks like the name of a user of another policy, who may have used the deployment
// before, is hashed, too.
func name(claim string) string {
	reserved := func(prefix string) bool { return strings.HasPrefix(claim, prefix) }
	if core.CheckName("user", claim) == nil && !slices.ContainsFunc([]string{"iam:", "cip:", hashed}, reserved) {
		return claim
	}
	sum := sha256.Sum256([]byte(claim))
	return hashed + hex.EncodeToString(sum[:16])
}
