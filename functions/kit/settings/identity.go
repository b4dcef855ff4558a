package settings

import (
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Identity says who authenticated requests are taken for. Which fields are used
// depends on the way to authenticate.
type Identity struct {
	Tenant      string            // REVEILLE_TENANT: the tenant of everybody
	TenantClaim string            // REVEILLE_TENANT_CLAIM: what names the tenant in a token or an authorizer's context
	UserClaim   string            // REVEILLE_USER_CLAIM: what names the user in an authorizer's context
	Tenants     map[string]string // REVEILLE_TENANTS: tenants by id of identity pool, user, role or account
	Issuer      string            // REVEILLE_ISSUER: who issues the tokens
	KeysURL     string            // REVEILLE_KEYS_URL: where the issuer's keys are; empty: at its usual place
	Clients     []string          // REVEILLE_CLIENTS: whom tokens are for
	TokenUse    string            // REVEILLE_TOKEN_USE: which of Cognito's tokens count
}

// Given returns the names of the variables that are set. REVEILLE_TOKEN_USE, which
// always has a value, counts when it is not the default.
func (i Identity) Given() (names []string) {
	for _, v := range []struct {
		name  string
		given bool
	}{
		{"REVEILLE_TENANT", i.Tenant != ""},
		{"REVEILLE_TENANT_CLAIM", i.TenantClaim != ""},
		{"REVEILLE_USER_CLAIM", i.UserClaim != ""},
		{"REVEILLE_TENANTS", len(i.Tenants) > 0},
		{"REVEILLE_ISSUER", i.Issuer != ""},
		{"REVEILLE_KEYS_URL", i.KeysURL != ""},
		{"REVEILLE_CLIENTS", len(i.Clients) > 0},
		{"REVEILLE_TOKEN_USE", i.TokenUse == "access"},
	} {
		if v.given {
			names = append(names, v.name)
		}
	}
	return names
}

func name(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		*field(s) = v
		if v == "" {
			return nil
		}
		return core.CheckName("name", v)
	}
}

// given refuses an empty item, which a comma too many makes.
func given(v string) (string, error) {
	if v == "" {
		return "", errForm
	}
	return v, nil
}

func secureAddress(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		*field(s) = v
		if v == "" {
			return nil
		}
		u, err := url.Parse(v)
		if err == nil && (u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(v, "?#")) {
			err = errForm
		}
		return err
	}
}

func tenants(s *Settings, v string) error {
	if v == "" {
		return nil
	}
	s.Identity.Tenants = map[string]string{}
	for pair := range strings.SplitSeq(v, ",") {
		id, tenant, _ := strings.Cut(strings.TrimSpace(pair), "=")
		_, twice := s.Identity.Tenants[id]
		if !isPrincipal(id) || twice || core.CheckName("tenant", tenant) != nil {
			return errForm
		}
		s.Identity.Tenants[id] = tenant
	}
	return nil
}

// anonymous is the tenant of everybody on AWS when no other is named.
const anonymous = "public"

// EverybodysTenant is the one tenant of a deployment on AWS, where there is only one;
// empty: tenants come from requests.
func (s Settings) EverybodysTenant() string {
	if s.Identity.Tenant == "" && s.Auth == "none" {
		return anonymous
	}
	return s.Identity.Tenant
}
