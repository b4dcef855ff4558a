package identity

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

func TestWhatIsMissingOrMeaninglessIsNamed(t *testing.T) {
	const either = "exactly one of the environment variables REVEILLE_TENANT (the tenant of all callers) and REVEILLE_TENANT_CLAIM is required with REVEILLE_AUTH="
	tests := []struct{ name, variables, want string }{
		{"nothing", "", "environment variable REVEILLE_AUTH is required on AWS, allowed: none, iam, jwt, gateway, lambda"},
		{"nobody", "REVEILLE_AUTH=none", ""},
		{"nobody, of a tenant", "REVEILLE_AUTH=none REVEILLE_TENANT=t", ""},
		{"nobody, by claim", "REVEILLE_AUTH=none REVEILLE_TENANT_CLAIM=c", "environment variable REVEILLE_TENANT_CLAIM does not apply to REVEILLE_AUTH=none, unset it"},
		{"signers", "REVEILLE_AUTH=iam REVEILLE_TENANTS=111122223333=t", ""},
		{"signers without tenants", "REVEILLE_AUTH=iam", "environment variable REVEILLE_TENANTS is required with REVEILLE_AUTH=iam"},
		{"signers of one tenant", "REVEILLE_AUTH=iam REVEILLE_TENANTS=111122223333=t REVEILLE_TENANT=t", "environment variable REVEILLE_TENANT does not apply to REVEILLE_AUTH=iam, unset it"},
		{"tokens", "REVEILLE_AUTH=jwt REVEILLE_ISSUER=https://i.example REVEILLE_CLIENTS=a REVEILLE_TENANT=t REVEILLE_KEYS_URL=https://i.example/keys", ""},
		{"tokens without issuer", "REVEILLE_AUTH=jwt REVEILLE_CLIENTS=a REVEILLE_TENANT=t", "environment variable REVEILLE_ISSUER is required with REVEILLE_AUTH=jwt"},
		{"tokens for anybody", "REVEILLE_AUTH=jwt REVEILLE_ISSUER=https://i.example REVEILLE_TENANT=t", "environment variable REVEILLE_CLIENTS is required with REVEILLE_AUTH=jwt"},
		{"tokens without tenant", "REVEILLE_AUTH=jwt REVEILLE_ISSUER=https://i.example REVEILLE_CLIENTS=a", either + "jwt"},
		{"tokens with both", "REVEILLE_AUTH=gateway REVEILLE_TENANT=t REVEILLE_TENANT_CLAIM=c", either + "gateway"},
		{"a gateway's tokens", "REVEILLE_AUTH=gateway REVEILLE_TENANT_CLAIM=c REVEILLE_ISSUER=https://i.example REVEILLE_CLIENTS=a", ""},
		{"a gateway's keys", "REVEILLE_AUTH=gateway REVEILLE_TENANT_CLAIM=c REVEILLE_KEYS_URL=https://i.example", "environment variable REVEILLE_KEYS_URL does not apply to REVEILLE_AUTH=gateway, unset it"},
		{"a gateway's access tokens", "REVEILLE_AUTH=gateway REVEILLE_TENANT_CLAIM=c REVEILLE_TOKEN_USE=access", ""},
		{"access tokens", "REVEILLE_AUTH=jwt REVEILLE_ISSUER=https://i.example REVEILLE_CLIENTS=a REVEILLE_TENANT=t REVEILLE_TOKEN_USE=access", ""},
		{"signers with access tokens", "REVEILLE_AUTH=iam REVEILLE_TENANTS=111122223333=t REVEILLE_TOKEN_USE=access", "environment variable REVEILLE_TOKEN_USE does not apply to REVEILLE_AUTH=iam, unset it"},
		{"the use that is the default", "REVEILLE_AUTH=iam REVEILLE_TENANTS=111122223333=t REVEILLE_TOKEN_USE=id", ""},
		{"contexts", "REVEILLE_AUTH=lambda REVEILLE_TENANT_CLAIM=c REVEILLE_USER_CLAIM=u", ""},
		{"contexts without user", "REVEILLE_AUTH=lambda REVEILLE_TENANT_CLAIM=c", "environment variable REVEILLE_USER_CLAIM is required with REVEILLE_AUTH=lambda"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := settings.Read(strings.Fields(tt.variables))
			if err != nil {
				t.Fatal(err)
			}
			policy, err := Authenticate(s, env.System())
			if tt.want == "" {
				if err != nil || policy == nil {
					t.Errorf("error %v", err)
				}
			} else if err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
		})
	}
}

func TestNobodyIsOfTheNamedTenant(t *testing.T) {
	i := newIssuer(t)
	for variables, want := range map[string]core.Identity{
		"REVEILLE_AUTH=none":                    {Tenant: "public"},
		"REVEILLE_AUTH=none REVEILLE_TENANT=t1": {Tenant: "t1"},
	} {
		got, err := who(t, i.policy(t, strings.Fields(variables)...), url, v2(httpJWT, ""))
		if err != nil || got != want {
			t.Errorf("%s: identity %+v, error %v", variables, got, err)
		}
	}
}

// TestHeadersOfCORSHaveOneHome: behind a Function URL and an HTTP API they come
// from the configuration of those, and would be doubled by ours.
func TestHeadersOfCORSHaveOneHome(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_ORIGINS=https://app.example"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	h := AllowOrigins(s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, w.Header().Get("Access-Control-Allow-Origin"))
	}))
	v2Event := v2(`"authorizer":null`, `"origin":"https://app.example"`)
	handle(t, url, h, v2Event)
	handle(t, api, h, v2Event)
	handle(t, url, h, v1(`"authorizer":null`, `"Origin":["https://app.example"]`))
	if diff := cmp.Diff([]string{"", "", "https://app.example"}, got); diff != "" {
		t.Error(diff)
	}
}
