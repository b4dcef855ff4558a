package caller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

type policy interface {
	Identity(Caller) (core.Identity, error)
}

const pool, identityID = "eu-central-1:0f1e2d3c", "eu-central-1:5b2c1f0e"

func TestPoliciesTakeTheirOwnKindOnly(t *testing.T) {
	callers := map[string]Caller{
		"nobody": nil, "token": Token{Claims: Claims{"sub": "u", "tenant": "t"}}, "context": Context{Claims: Claims{"sub": "u", "tenant": "t"}},
		"signer": Signer{ID: "AIDA1", Account: "111122223333"}, "pool": PoolUser{Pool: pool, Identity: identityID, Authenticated: true},
	}
	tests := []struct {
		name   string
		policy policy
		want   map[string]core.Identity
	}{
		{"tokens", Tokens{Tenant: Tenant{Claim: "tenant"}}, map[string]core.Identity{"token": {Tenant: "t", User: "u"}}},
		{"contexts", Contexts{Tenant: Tenant{Claim: "tenant"}, User: "sub"}, map[string]core.Identity{"context": {Tenant: "t", User: "u"}}},
		{"signers", Signers{"111122223333": "t", pool: "p"}, map[string]core.Identity{
			"signer": {Tenant: "t", User: "iam:AIDA1"}, "pool": {Tenant: "p", User: "cip:eu-central-1:5b2c1f0e"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]core.Identity{}
			for name, c := range callers {
				id, err := tt.policy.Identity(c)
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
		caller Caller
		want   core.Identity
		code   core.Code
	}{
		{"a user before its account", Signer{"AIDA1", "111122223333"}, core.Identity{Tenant: "user", User: "iam:AIDA1"}, ""},
		{"a user of another account", Signer{"AIDA1", "999999999999"}, core.Identity{Tenant: "user", User: "iam:AIDA1"}, ""},
		{"a role of the account", Signer{"AROA2:s", "111122223333"}, core.Identity{Tenant: "account", User: "iam:AROA2"}, ""},
		{"a session with a colon", Signer{"AROA1:a:b", "111122223333"}, core.Identity{Tenant: "role", User: "iam:AROA1"}, ""},
		{"of another account", Signer{"AIDA3", "999999999999"}, core.Identity{}, core.CodeDenied},
		{"root", Signer{"111122223333", "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a federated user", Signer{"111122223333:ada", "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a service", Signer{"AWSSERVICE", "111122223333"}, core.Identity{}, core.CodeDenied},
		{"no id", Signer{"", "111122223333"}, core.Identity{}, core.CodeDenied},
		{"an id that is no name", Signer{"AIDA#1", "111122223333"}, core.Identity{}, core.CodeDenied},
		{"a pool's user", PoolUser{pool, identityID, true}, core.Identity{Tenant: "pool", User: "cip:eu-central-1:5b2c1f0e"}, ""},
		{"a guest", PoolUser{pool, identityID, false}, core.Identity{}, core.CodeUnauthorized},
		{"a pool's user without identity", PoolUser{pool, "", true}, core.Identity{}, core.CodeUnauthorized},
		{"another pool's", PoolUser{"eu-central-1:ffff", identityID, true}, core.Identity{}, core.CodeDenied},
		{"of a pool that is not told", PoolUser{}, core.Identity{}, core.CodeDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := p.Identity(tt.caller)
			if got != tt.want || core.CodeOf(err) != tt.code {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	strict := Tokens{Tenant: Tenant{Claim: "tenant"}, Issuer: "https://i.example", Clients: []string{"a", "b"}}
	access := strict
	access.Use = UseAccess
	claims := func(more ...string) Claims {
		c := Claims{"iss": "https://i.example", "sub": "u", "tenant": "t"}
		for i := 0; i < len(more); i += 2 {
			c[more[i]] = more[i+1]
		}
		return c
	}
	tests := []struct {
		name   string
		policy Tokens
		token  Token
		want   bool
	}{
		{"for the second client", strict, Token{claims(), []string{"x", "b"}}, true},
		{"for nobody", strict, Token{claims(), nil}, false},
		{"for another", strict, Token{claims(), []string{"[a b]"}}, false},
		{"of another issuer", strict, Token{claims("iss", "https://i.example/"), []string{"a"}}, false},
		{"an ID token", strict, Token{claims("token_use", "id"), []string{"a"}}, true},
		{"an access token for an ID token", strict, Token{claims("token_use", "access", "client_id", "a"), []string{"a"}}, false},
		{"of an unknown use", strict, Token{claims("token_use", ""), []string{"a"}}, false},
		{"an access token", access, Token{claims("token_use", "access", "client_id", "b"), nil}, true},
		{"another client's access token", access, Token{claims("token_use", "access", "client_id", "x"), []string{"a"}}, false},
		{"an ID token for an access token", access, Token{claims("token_use", "id"), []string{"a"}}, false},
		{"no use for an access token", access, Token{claims("client_id", "a"), []string{"a"}}, false},
		{"any client", Tokens{Tenant: Tenant{Constant: "t"}}, Token{claims(), []string{"x"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.policy.Identity(tt.token)
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
			got, err := Contexts{Tenant: Tenant{Claim: "tenant"}, User: "user"}.Identity(Context{Claims{"tenant": tt.tenant, "user": tt.user}})
			if got != tt.want || (err == nil) != (tt.want != core.Identity{}) {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
}

func TestTheContextCarriesTheCaller(t *testing.T) {
	if got := From(context.Background()); got != nil {
		t.Errorf("caller %v of a request of nobody", got)
	}
	want := Signer{ID: "AIDA1"}
	if got := From(With(context.Background(), want)); got != Caller(want) {
		t.Errorf("caller %v", got)
	}
}
