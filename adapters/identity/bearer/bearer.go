package bearer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	identity "github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// algorithms are the public-key algorithms that issuers use. The list is explicit, since
// with "none" or a shared secret any sender could sign.
var algorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// Options configures [New]. Env, and the Issuer of Tokens, are required.
type Options struct {
	Env *env.Env
	// Tokens is the policy that maps a verified token to a tenant and a user.
	Tokens identity.Tokens
	// KeysURL is where the issuer publishes its keys. Empty: the issuer's address
	// followed by "/.well-known/jwks.json", as Cognito has it.
	KeysURL string
	// Transport fetches the keys. nil: one that reaches public hosts by https, hosts in
	// REVEILLE_EGRESS_ALLOW, and, outside Lambda, this machine. Redirects are not followed.
	Transport http.RoundTripper
}

// New returns a function that identifies the sender of a request by its bearer token: a
// value of httpapi.Options.Authenticate, safe for concurrent use. It fetches the issuer's
// keys when the first token arrives.
//
// The token is the only value of the header Authorization. If the token is missing or not
// valid, the error has code [core.CodeUnauthorized] and a text that does not reveal the
// reason. If the issuer's keys cannot be fetched, it has [core.CodeUnavailable].
//
// The error of New has the code invalid: the keys are at an address that Transport would
// refuse.
func New(o Options) (func(*http.Request) (core.Identity, error), error) {
	v, err := newVerifier(o)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) (core.Identity, error) {
		token, err := v.caller(r) // and never what an event says about a token
		if err != nil {
			return core.Identity{}, err
		}
		return o.Tokens.Authenticate(r.WithContext(caller.With(r.Context(), token)))
	}, nil
}

// verifier verifies tokens.
type verifier struct {
	config oidc.Config
	issuer string
	keys   *keys
}

// newVerifier returns a verifier; it sends no request yet.
func newVerifier(o Options) (*verifier, error) {
	if o.KeysURL == "" {
		o.KeysURL = strings.TrimSuffix(o.Tokens.Issuer, "/") + "/.well-known/jwks.json"
	}
	if o.Transport == nil {
		rules, err := egress.Read(egress.Options{Local: true})
		var u *url.URL
		if err == nil {
			u, err = url.Parse(o.KeysURL)
		}
		if err == nil {
			err = rules.Check(u)
		}
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "address of the issuer's keys: %w", err)
		}
		o.Transport = rules.Transport()
	}
	return &verifier{
		issuer: o.Tokens.Issuer, keys: newKeys(o.Env, o.KeysURL, o.Transport),
		// The policy knows the clients; go-oidc knows one.
		config: oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: o.Env.Now},
	}, nil
}

var (
	errNoToken  = core.Errorf(core.CodeUnauthorized, "the request carries no bearer token")
	errBadToken = core.Errorf(core.CodeUnauthorized, "the bearer token is not valid here")
)

// caller returns the holder of the request's token.
func (v *verifier) caller(r *http.Request) (caller.Token, error) {
	token, ok := tokenOf(r.Header)
	if !ok {
		return caller.Token{}, errNoToken
	}
	fetched := &fetches{keys: v.keys}
	verified, err := oidc.NewVerifier(v.issuer, fetched, &v.config).Verify(r.Context(), token)
	switch {
	case fetched.err != nil:
		return caller.Token{}, core.Errorf(core.CodeUnavailable, "keys of the issuer: %w", fetched.err)
	case err != nil, verified.Issuer != v.issuer: // the library forgives Google a missing "https://"
		return caller.Token{}, errBadToken
	}
	var fields map[string]json.RawMessage
	if err := verified.Claims(&fields); err != nil {
		return caller.Token{}, errBadToken
	}
	return caller.Token{Claims: caller.Texts(fields), Audience: verified.Audience}, nil
}

// tokenOf returns the token of a header that has exactly one. Front ends join
// repeated values with commas, and no comma is part of a token.
func tokenOf(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.Count(token, ".") != 2 {
		return "", false
	}
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	}
	return token, !strings.ContainsFunc(token, other)
}

// fetches is the key set for one token: it tells a token that proves nothing
// from keys that could not be fetched, which the library does not.
type fetches struct {
	keys *keys
	err  error
}

// VerifySignature implements oidc.KeySet.
func (f *fetches) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := f.keys.set().VerifySignature(ctx, token)
	if err != nil {
		f.err = unreachable(err)
	}
	return payload, err
}
