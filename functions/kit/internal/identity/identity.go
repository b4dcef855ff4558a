// Package identity authenticates requests to a function on AWS, as the settings describe.
// Only functions that take requests link it, with the verifier of tokens.
package identity

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/identity/bearer"
	"github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// The values of REVEILLE_AUTH.
const (
	none    = "none"    // all callers are one anonymous user of one tenant
	iam     = "iam"     // signed requests: users, roles, users of Cognito identity pools
	jwt     = "jwt"     // bearer tokens, which the function verifies at every endpoint
	gateway = "gateway" // claims of a token that API Gateway verified: its JWT or Cognito authorizer
	lambda  = "lambda"  // the context that a Lambda authorizer of API Gateway returned
)

// Authenticate returns a function that identifies the sender of a request, by the method in
// REVEILLE_AUTH. An error names a variable that is missing, or that does not apply to the
// method: no setting is ignored, and a deployment is open only with REVEILLE_AUTH=none.
func Authenticate(s settings.Settings, e *env.Env) (func(*http.Request) (core.Identity, error), error) {
	return authenticate(s, e, nil)
}

// authenticate takes the transport that fetches keys; nil is the one of net/http.
func authenticate(s settings.Settings, e *env.Env, t http.RoundTripper) (func(*http.Request) (core.Identity, error), error) {
	if err := check(s); err != nil {
		return nil, err
	}
	i := s.Identity
	tokens := caller.Tokens{Tenant: i.Tenant, TenantClaim: i.TenantClaim, Issuer: i.Issuer, Clients: i.Clients, Use: i.TokenUse}
	switch s.Auth {
	case iam:
		return caller.Signers(i.Tenants).Authenticate, nil
	case gateway:
		return tokens.Authenticate, nil
	case lambda:
		return caller.Contexts{Tenant: i.Tenant, TenantClaim: i.TenantClaim, User: i.UserClaim}.Authenticate, nil
	case jwt:
		verified, err := bearer.New(bearer.Options{Env: e, Tokens: tokens, KeysURL: i.KeysURL, Transport: t})
		if err != nil {
			name := "REVEILLE_ISSUER"
			if i.KeysURL != "" {
				name = "REVEILLE_KEYS_URL"
			}
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		return verified, nil
	}
	return httpapi.Anonymous(s.EverybodysTenant()), nil
}

// variables are the variables of each value of REVEILLE_AUTH. "!" marks a required variable
// and "?" an optional one. Exactly one of those with "|" is required.
var variables = map[string]string{
	none:    "?REVEILLE_TENANT",
	iam:     "!REVEILLE_TENANTS",
	jwt:     "!REVEILLE_ISSUER !REVEILLE_CLIENTS |REVEILLE_TENANT |REVEILLE_TENANT_CLAIM ?REVEILLE_KEYS_URL ?REVEILLE_TOKEN_USE",
	gateway: "|REVEILLE_TENANT |REVEILLE_TENANT_CLAIM ?REVEILLE_ISSUER ?REVEILLE_CLIENTS ?REVEILLE_TOKEN_USE",
	lambda:  "!REVEILLE_USER_CLAIM |REVEILLE_TENANT |REVEILLE_TENANT_CLAIM",
}

func check(s settings.Settings) error {
	belonging, ok := variables[s.Auth]
	if !ok {
		return fmt.Errorf("environment variable REVEILLE_AUTH is required on AWS, allowed: none, iam, jwt, gateway, lambda")
	}
	given := s.Identity.Given()
	var either []string
	rest := slices.Clone(given)
	for _, item := range strings.Fields(belonging) {
		name := item[1:]
		if item[0] == '!' && !slices.Contains(given, name) {
			return fmt.Errorf("environment variable %s is required with REVEILLE_AUTH=%s", name, s.Auth)
		}
		if item[0] == '|' && slices.Contains(given, name) {
			either = append(either, name)
		}
		rest = slices.DeleteFunc(rest, func(other string) bool { return other == name })
	}
	if strings.Contains(belonging, "|") && len(either) != 1 {
		return fmt.Errorf("exactly one of the environment variables REVEILLE_TENANT (the tenant of all callers) and REVEILLE_TENANT_CLAIM is required with REVEILLE_AUTH=%s", s.Auth)
	}
	if len(rest) > 0 {
		return fmt.Errorf("environment variable %s does not apply to REVEILLE_AUTH=%s, unset it", rest[0], s.Auth)
	}
	return nil
}

// AllowOrigins returns h with CORS headers for the configured origins, for requests through
// a REST API. Function URLs and HTTP APIs add these headers themselves.
func AllowOrigins(s settings.Settings, h http.Handler) http.Handler {
	cors := httpapi.CORS(s.Origins, h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if awslambda.BehindREST(r) {
			cors.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
