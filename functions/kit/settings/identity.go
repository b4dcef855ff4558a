package settings

import (
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Identity describes the tenant and the user of a request. The way of authentication
// decides which fields are used.
type Identity struct {
	Tenant      string            // REVEILLE_TENANT: the tenant of all callers
	TenantClaim string            // REVEILLE_TENANT_CLAIM: the name of the tenant in a token or an authorizer's context
	UserClaim   string            // REVEILLE_USER_CLAIM: the name of the user in an authorizer's context
	Tenants     map[string]string // REVEILLE_TENANTS: tenants by id of identity pool, user, role or account
	Issuer      string            // REVEILLE_ISSUER: the issuer of tokens
	KeysURL     string            // REVEILLE_KEYS_URL: the address of the issuer's keys; empty: the usual one
	Clients     []string          // REVEILLE_CLIENTS: the clients or audiences of tokens
	TokenUse    string            // REVEILLE_TOKEN_USE: the kind of Cognito tokens that is accepted
}

// Given returns the names of the variables that are set. REVEILLE_TOKEN_USE always has a
// value: it is among them if the value is not the default.
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

// given refuses an empty item, such as after a comma at the end.
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

// anonymous is the tenant of all callers on AWS if no other is set.
const anonymous = "public"

// EverybodysTenant returns the only tenant of a deployment on AWS; empty: requests name
// their tenants.
func (s Settings) EverybodysTenant() string {
	if s.Identity.Tenant == "" && s.Auth == "none" {
		return anonymous
	}
	return s.Identity.Tenant
}
