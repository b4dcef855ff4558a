package caller

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/core"
)

type policy interface {
	identity(caller.Caller) (core.Identity, error)
}

const pool, identityID = "eu-central-1:0f1e2d3c", "eu-central-1:5b2c1f0e"

func TestPoliciesTakeTheirOwnKindOnly(t *testing.T) {
	callers := map[string]caller.Caller{
		"nobody": nil, "token": caller.Token{Claims: caller.Claims{"sub": "u", "tenant": "t"}}, "context": caller.Context{Claims: caller.Claims{"sub": "u", "tenant": "t"}},
		"signer": caller.Signer{ID: "AIDA1", Account: "111122223333"}, "pool": caller.PoolUser{Pool: pool, Identity: identityID, Authenticated: true},
	}
	tests := []struct {
		name   string
		policy policy
		want   map[string]core.Identity
	}{
		{"tokens", Tokens{TenantClaim: "tenant"}, map[string]core.Identity{"token": {Tenant: "t", User: "u"}}},
		{"contexts", Contexts{TenantClaim: "tenant", User: "sub"}, map[string]core.Identity{"context": {Tenant: "t", User: "u"}}},
		{"signers", Signers{"111122223333": "t", pool: "p"}, map[string]core.Identity{
			"signer": {Tenant: "t", User: "iam:AIDA1"}, "pool": {Tenant: "p", User: "cip:eu-central-1:5b2c1f0e"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]core.Identity{}
			for name, c := range callers {
				id, err := tt.policy.identity(c)
				if err == nil {
					got[name] = id
				} else if core.CodeOf(err) != core.CodeUnauthorized {
					t.Errorf("%s: error %v", name, err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSigners(t *testing.T) {
	p := Signers{"111122223333": "account", "AROA1": "role", "AIDA1": "user", pool: "pool"}
	tests := []struct {
		name   string
		caller caller.Caller
		want   core.Identity
		code   core.Code
	}{
		{"a user before its account", caller.Signer{ID: "AIDA1", Account: "111122223333"}, core.Identity{Tenant: "user", User: "iam:AIDA1"}, ""},
		{"a user of another account", caller.Signer{ID: "AIDA1", Account: "999999999999"}, core.Identity{Tenant: "user", User: "iam:AIDA1"}, ""},
		{"a role of the account", caller.Signer{ID: "AROA2:s", Account: "111122223333"}, core.Identity{Tenant: "account", User: "iam:AROA2"}, ""},
		{"a session with a colon", caller.Signer{ID: "AROA1:a:b", Account: "111122223333"}, core.Identity{Tenant: "role", User: "iam:AROA1"}, ""},
		{"of another account", caller.Signer{ID: "AIDA3", Account: "999999999999"}, core.Identity{}, core.CodeDenied},
		{"root", caller.Signer{ID: "111122223333", Account: "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a federated user", caller.Signer{ID: "111122223333:ada", Account: "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a service", caller.Signer{ID: "AWSSERVICE", Account: "111122223333"}, core.Identity{}, core.CodeDenied},
		{"no id", caller.Signer{ID: "", Account: "111122223333"}, core.Identity{}, core.CodeDenied},
		{"an id that is no name", caller.Signer{ID: "AIDA#1", Account: "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a pool's user", caller.PoolUser{Pool: pool, Identity: identityID, Authenticated: true}, core.Identity{Tenant: "pool", User: "cip:eu-central-1:5b2c1f0e"}, ""},
		{"a guest", caller.PoolUser{Pool: pool, Identity: identityID, Authenticated: false}, core.Identity{}, core.CodeUnauthorized},
		{"a pool's user without identity", caller.PoolUser{Pool: pool, Identity: "", Authenticated: true}, core.Identity{}, core.CodeUnauthorized},
		{"another pool's", caller.PoolUser{Pool: "eu-central-1:ffff", Identity: identityID, Authenticated: true}, core.Identity{}, core.CodeDenied},
		{"of a pool that is not told", caller.PoolUser{}, core.Identity{}, core.CodeDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := p.identity(tt.caller)
			if got != tt.want || core.CodeOf(err) != tt.code {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	strict := Tokens{TenantClaim: "tenant", Issuer: "https://i.example", Clients: []string{"a", "b"}}
	access := strict
	access.Use = useAccess
	claims := func(more ...string) caller.Claims {
		c := caller.Claims{"iss": "https://i.example", "sub": "u", "tenant": "t"}
		for i := 0; i < len(more); i += 2 {
			c[more[i]] = more[i+1]
		}
		return c
	}
	tests := []struct {
		name   string
		policy Tokens
		token  caller.Token
		want   bool
	}{
		{"for the second client", strict, caller.Token{Claims: claims(), Audience: []string{"x", "b"}}, true},
		{"for nobody", strict, caller.Token{Claims: claims(), Audience: nil}, false},
		{"for another", strict, caller.Token{Claims: claims(), Audience: []string{"[a b]"}}, false},
		{"of another issuer", strict, caller.Token{Claims: claims("iss", "https://i.example/"), Audience: []string{"a"}}, false},
		{"an ID token", strict, caller.Token{Claims: claims("token_use", "id"), Audience: []string{"a"}}, true},
		{"an access token for an ID token", strict, caller.Token{Claims: claims("token_use", "access", "client_id", "a"), Audience: []string{"a"}}, false},
		{"of an unknown use", strict, caller.Token{Claims: claims("token_use", ""), Audience: []string{"a"}}, false},
		{"an access token", access, caller.Token{Claims: claims("token_use", "access", "client_id", "b"), Audience: nil}, true},
		{"another client's access token", access, caller.Token{Claims: claims("token_use", "access", "client_id", "x"), Audience: []string{"a"}}, false},
		{"an ID token for an access token", access, caller.Token{Claims: claims("token_use", "id"), Audience: []string{"a"}}, false},
		{"no use for an access token", access, caller.Token{Claims: claims("client_id", "a"), Audience: []string{"a"}}, false},
		{"any client", Tokens{Tenant: "t"}, caller.Token{Claims: claims(), Audience: []string{"x"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.policy.identity(tt.token)
			want := core.Identity{}
			if tt.want {
				want = core.Identity{Tenant: "t", User: "u"}
			}
			if got != want || tt.want != (err == nil) || err != nil && core.CodeOf(err) != core.CodeUnauthorized {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

func TestTenantsAndUsersAreNames(t *testing.T) {
	tests := []struct {
		name, tenant, user string
		want               core.Identity
	}{
		{"names", "t", "u-1", core.Identity{Tenant: "t", User: "u-1"}},
		{"a list for a tenant", "[a b]", "u", core.Identity{}},
		{"a tenant that reaches another's records", "t#1", "u", core.Identity{}},
		{"no tenant", "", "u", core.Identity{}},
		{"no user", "t", "", core.Identity{}},
		{"a user with a bar", "t", "auth0|5f7c", core.Identity{Tenant: "t", User: "sha256-662dd0a5965afa2fc4523919f762c1fc"}},
		{"a user like a principal", "t", "iam:AIDA1", core.Identity{Tenant: "t", User: "sha256-ffaa81ba701f44ba05d501a292daf685"}},
		{"a user like a pool's", "t", "cip:1", core.Identity{Tenant: "t", User: "sha256-ec84c172c0b83809970c2393dfa2d4cc"}},
		{"a user like a hash", "t", "sha256-662dd0a5965afa2fc4523919f762c1fc", core.Identity{Tenant: "t", User: "sha256-49b00d34c00bee089469f8bcf006f0f9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Contexts{TenantClaim: "tenant", User: "user"}.identity(caller.Context{Claims: caller.Claims{"tenant": tt.tenant, "user": tt.user}})
			if got != tt.want || (err == nil) != (tt.want != core.Identity{}) {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

// What a front end has verified is in the context of the request; a header that is given
// twice is refused, whoever was verified.
func TestPoliciesAskTheContextOfARequest(t *testing.T) {
	p := Signers{"111122223333": "t"}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if _, err := p.Authenticate(r); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("nobody: error %v", err)
	}
	r = r.WithContext(caller.With(r.Context(), caller.Signer{ID: "AIDA1", Account: "111122223333"}))
	r.Header.Add("Authorization", "a")
	if got, err := p.Authenticate(r); err != nil || got != (core.Identity{Tenant: "t", User: "iam:AIDA1"}) {
		t.Errorf("identity %+v, error %v", got, err)
	}
	r.Header.Add("Authorization", "b")
	if _, err := p.Authenticate(r); err == nil || err.Error() != "the header Authorization is given twice" || core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("two headers: error %v", err)
	}
}
