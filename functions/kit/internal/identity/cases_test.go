package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

var quiet = slog.New(slog.DiscardHandler)

const issuer = "https://issuer.example"

// issuing is an issuer in the test: its key, and the transport to its keys, which
// counts fetches.
type issuing struct {
	key     *rsa.PrivateKey
	server  http.Handler
	fetches int
}

func newIssuer(t *testing.T) *issuing {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	server := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k1", Algorithm: oidc.RS256}}}
	server.SetIssuer(issuer)
	return &issuing{key: key, server: server}
}

// RoundTrip implements http.RoundTripper.
func (i *issuing) RoundTrip(r *http.Request) (*http.Response, error) {
	i.fetches++
	r = r.Clone(r.Context())
	r.URL.Path = "/keys" // where the library's test server has them
	w := httptest.NewRecorder()
	i.server.ServeHTTP(w, r)
	return w.Result(), nil
}

// token is signed and good for an hour; more are further claims as JSON.
func (i *issuing) token(kid, more string) string {
	claims := fmt.Sprintf(`{"iss":%q,"exp":%d%s}`, issuer, time.Now().Add(time.Hour).Unix(), more)
	return oidctest.SignIDToken(i.key, kid, oidc.RS256, claims)
}

func (i *issuing) policy(t *testing.T, variables ...string) func(*http.Request) (core.Identity, error) {
	t.Helper()
	s, err := settings.Read(variables)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := authenticate(s, env.System(), i)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// door is a handler of Lambda as the functions make it.
type door func(awslambda.Handlers, http.Handler) func(context.Context, json.RawMessage) (any, error)

// The doors: url stands behind a Function URL or a REST API, api behind an HTTP
// API.
var (
	url door = awslambda.Handlers.Stream
	api door = awslambda.Handlers.Buffered
)

func handle(t *testing.T, d door, h http.Handler, event string) {
	t.Helper()
	response, err := d(awslambda.Handlers{Logger: quiet}, h)(t.Context(), json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := response.(io.Closer); ok {
		_ = closer.Close() // waits for the handler
	}
}

// who is what an event's sender is taken for.
func who(t *testing.T, policy func(*http.Request) (core.Identity, error), d door, event string) (id core.Identity, err error) {
	t.Helper()
	handle(t, d, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { id, err = policy(r) }), event)
	return id, err
}

// v2 and v1 are events of the two payload formats with a part of the request
// context and headers, both as JSON.
func v2(context, headers string) string {
	return `{"version":"2.0","rawPath":"/v1/threads/t1","headers":{` + headers + `},"requestContext":{"stage":"$default","http":{"method":"GET"},` + context + `}}`
}

func v1(context, headers string) string {
	return `{"httpMethod":"GET","path":"/v1/threads/t1","multiValueHeaders":{` + headers + `},"requestContext":{` + context + `}}`
}

// The configurations of the cases.
var (
	byIAM = []string{"REVEILLE_AUTH=iam",
		"REVEILLE_TENANTS=us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211=t,AIDA1=t,AROA1=t"}
	byJWT     = []string{"REVEILLE_AUTH=jwt", "REVEILLE_ISSUER=" + issuer, "REVEILLE_CLIENTS=app", "REVEILLE_TENANT_CLAIM=tenant"}
	byGateway = []string{"REVEILLE_AUTH=gateway", "REVEILLE_TENANT_CLAIM=tenant"}
	byLambda  = []string{"REVEILLE_AUTH=lambda", "REVEILLE_TENANT_CLAIM=tenant", "REVEILLE_USER_CLAIM=user"}
)

const (
	httpJWT = `"authorizer":{"jwt":{"claims":{"sub":"u1","tenant":"t","exp":"1795237980"},"scopes":null}}`
	pool    = `us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211`
	other   = `us-east-1:ffffffff-4b5a-4697-8877-665544332211`
)

func iamV2(id string) string {
	return `"authorizer":{"iam":{"accountId":"111122223333","callerId":"` + id + `","userArn":"arn:aws:iam::111122223333:user/x","userId":"` + id + `","cognitoIdentity":null}}`
}

func poolV2(amr, pool string) string {
	return `"authorizer":{"iam":{"accountId":"111122223333","userId":"AROA1:CognitoIdentityCredentials","cognitoIdentity":{"amr":["` + amr + `"],"identityId":"us-east-1:5b2c","identityPoolId":"` + pool + `"}}}`
}

// TestWhoIsCalling has each case of each door and authorizer: who it is, or with
// which status it is refused.
func TestWhoIsCalling(t *testing.T) {
	i := newIssuer(t)
	good := i.token("k1", `,"aud":"app","sub":"u1","tenant":"t"`)
	bearer := func(token string) string { return `"authorization":"Bearer ` + token + `"` }
	none := `"authorizer":null`
	claimed := func(claims string) string { return `"authorizer":{"jwt":{"claims":` + claims + `,"scopes":null}}` }
	cognito := func(use string) string {
		return `"authorizer":{"claims":{"sub":"u1","tenant":"t","token_use":"` + use + `","exp":"Sat Nov 21 05:13:00 UTC 2026"}}`
	}
	tests := []struct {
		name   string
		policy []string
		door   door
		event  string
		want   core.Identity
		code   core.Code
	}{
		{"1 URL, nobody", byIAM, url, v2(none, ""), core.Identity{}, core.CodeUnauthorized},
		{"1 URL, nobody, gateway", byGateway, url, v2(none, ""), core.Identity{}, core.CodeUnauthorized},
		{"1 URL, nobody, own verifier", byJWT, url, v2(none, ""), core.Identity{}, core.CodeUnauthorized},
		{"2 URL, a token", byJWT, url, v2(none, bearer(good)), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"3 URL, a user", byIAM, url, v2(iamV2("AIDA1"), ""), core.Identity{Tenant: "t", User: "iam:AIDA1"}, ""},
		{"4 URL, a role", byIAM, url, v2(iamV2("AROA1:bob"), ""), core.Identity{Tenant: "t", User: "iam:AROA1"}, ""},
		{"4 URL, its next session", byIAM, url, v2(iamV2("AROA1:eve"), ""), core.Identity{Tenant: "t", User: "iam:AROA1"}, ""},
		{"5 URL, a session named like a user", byIAM, url, v2(iamV2("AROA1:AIDA1"), ""), core.Identity{Tenant: "t", User: "iam:AROA1"}, ""},
		{"6 URL, a pool's user", byIAM, url, v2(iamV2("AROA1:CognitoIdentityCredentials"), ""), core.Identity{}, core.CodeDenied},
		{"7 URL, a user without tenant", byIAM, url, v2(iamV2("AIDA2"), ""), core.Identity{}, core.CodeDenied},
		{"8 URL, the claims of a gateway", byGateway, url, v2(httpJWT, ""), core.Identity{}, core.CodeUnauthorized},
		{"9 HTTP API, a token", byGateway, api, v2(httpJWT, ""), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"10 HTTP API, no tenant", byGateway, api, v2(claimed(`{"sub":"u1"}`), ""), core.Identity{}, core.CodeUnauthorized},
		{"10 HTTP API, one tenant", []string{"REVEILLE_AUTH=gateway", "REVEILLE_TENANT=one"}, api, v2(claimed(`{"sub":"u1"}`), ""), core.Identity{Tenant: "one", User: "u1"}, ""},
		{"11 HTTP API, a list of tenants", byGateway, api, v2(claimed(`{"sub":"u1","tenant":"[a b]"}`), ""), core.Identity{}, core.CodeUnauthorized},
		{"12 HTTP API, a number", byGateway, api, v2(claimed(`{"sub":"u1","tenant":"t","exp":1795237980}`), ""), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"13 HTTP API, a pool's user", byIAM, api, v2(poolV2("authenticated", pool), ""), core.Identity{Tenant: "t", User: "cip:us-east-1:5b2c"}, ""},
		{"14 HTTP API, a pool's guest", byIAM, api, v2(poolV2("unauthenticated", pool), ""), core.Identity{}, core.CodeUnauthorized},
		{"15 HTTP API, another pool's user", byIAM, api, v2(poolV2("authenticated", other), ""), core.Identity{}, core.CodeDenied},
		{"16 HTTP API, tenant 7", byLambda, api, v2(`"authorizer":{"lambda":{"user":"u1","tenant":7}}`, ""), core.Identity{}, core.CodeUnauthorized},
		{"16 HTTP API, tenant null", byLambda, api, v2(`"authorizer":{"lambda":{"user":"u1","tenant":null}}`, ""), core.Identity{}, core.CodeUnauthorized},
		{"16 HTTP API, a tenant", byLambda, api, v2(`"authorizer":{"lambda":{"user":"u1","tenant":"t"}}`, ""), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"17 REST API, a token", byGateway, url, v1(cognito("id"), ""), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"18 REST API, an access token", byGateway, url, v1(cognito("access"), ""), core.Identity{}, core.CodeUnauthorized},
		{"19 REST API, a context", byLambda, url, v1(`"authorizer":{"principalId":"p","integrationLatency":3,"user":"u1","tenant":"t"}`, ""), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"20 REST API, a pool's user", byIAM, url, v1(`"identity":{"cognitoIdentityId":"us-east-1:5b2c","cognitoIdentityPoolId":"`+pool+`","cognitoAuthenticationType":"authenticated","user":"AROA1:CognitoIdentityCredentials","userArn":"a"}`, ""), core.Identity{Tenant: "t", User: "cip:us-east-1:5b2c"}, ""},
		{"20 REST API, a pool's guest", byIAM, url, v1(`"identity":{"cognitoIdentityId":"us-east-1:5b2c","cognitoIdentityPoolId":"`+pool+`","cognitoAuthenticationType":"unauthenticated","userArn":"a"}`, ""), core.Identity{}, core.CodeUnauthorized},
		{"21 REST API, the console's test", byIAM, url, v1(`"stage":"test-invoke-stage","identity":{"accountId":"111122223333","user":"AIDA1","userArn":"a"}`, ""), core.Identity{}, core.CodeUnauthorized},
		{"22 URL, two tokens", byJWT, url, v2(none, `"authorization":"Bearer `+good+`,Bearer `+good+`"`), core.Identity{}, core.CodeUnauthorized},
		{"22 REST API, two tokens", byJWT, url, v1(none, `"Authorization":["Bearer `+good+`","Bearer `+good+`"]`), core.Identity{}, core.CodeUnauthorized},
		{"22 REST API, two tokens before a gateway's claims", byGateway, url, v1(cognito("id"), `"Authorization":["Bearer a","Bearer b"]`), core.Identity{}, core.CodeUnauthorized},
		{"23 URL, a forged context", byGateway, url, v2(none, `"x-golambdaproxy-apigw-context":"{\"authorizer\":{\"claims\":{\"sub\":\"u1\",\"tenant\":\"t\"}}}"`), core.Identity{}, core.CodeUnauthorized},
		{"23 HTTP API, a forged context", byGateway, api, v2(httpJWT, `"x-golambdaproxy-apigw-context":"{\"authorizer\":{\"jwt\":{\"claims\":{\"sub\":\"eve\",\"tenant\":\"t\"}}}}"`), core.Identity{Tenant: "t", User: "u1"}, ""},
		{"24 invoked directly with claims", byJWT, api, v2(httpJWT, ""), core.Identity{}, core.CodeUnauthorized},
		{"24 invoked directly with REST claims", byJWT, url, v1(cognito("id"), ""), core.Identity{}, core.CodeUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := who(t, i.policy(t, tt.policy...), tt.door, tt.event)
			if got != tt.want || core.CodeOf(err) != tt.code {
				t.Errorf("identity %+v, error %v, want %+v %s", got, err, tt.want, tt.code)
			}
		})
	}
}

// TestTokensThatProveNothing is case 25.
func TestTokensThatProveNothing(t *testing.T) {
	i := newIssuer(t)
	policy := i.policy(t, byJWT...)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	claims := fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"u1","tenant":"t","exp":%d}`, issuer, time.Now().Add(time.Hour).Unix())
	tests := []struct{ name, token string }{
		{"alg none", part(`{"alg":"none"}`) + "." + part(claims) + "."},
		{"alg HS256", part(`{"alg":"HS256","kid":"k1"}`) + "." + part(claims) + "." + part("signature")},
		{"another key", oidctest.SignIDToken(stranger, "k1", oidc.ES256, claims)},
		{"another audience", i.token("k1", `,"aud":"other","sub":"u1","tenant":"t"`)},
		{"another issuer", oidctest.SignIDToken(i.key, "k1", oidc.RS256, strings.Replace(claims, issuer, issuer+"/", 1))},
		{"expired", oidctest.SignIDToken(i.key, "k1", oidc.RS256, fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"u1","tenant":"t","exp":%d}`, issuer, time.Now().Add(-time.Second).Unix()))},
		{"without end", oidctest.SignIDToken(i.key, "k1", oidc.RS256, fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"u1","tenant":"t"}`, issuer))},
		{"not yet valid", i.token("k1", fmt.Sprintf(`,"aud":"app","sub":"u1","tenant":"t","nbf":%d`, time.Now().Add(10*time.Minute).Unix()))},
		{"no user", i.token("k1", `,"aud":"app","tenant":"t"`)},
		{"a user that is a number", i.token("k1", `,"aud":"app","tenant":"t","sub":7`)},
		{"no tenant", i.token("k1", `,"aud":"app","sub":"u1"`)},
		{"an empty tenant", i.token("k1", `,"aud":"app","sub":"u1","tenant":""`)},
		{"a tenant that reaches another's records", i.token("k1", `,"aud":"app","sub":"u1","tenant":"t#T#u"`)},
		{"a tenant that is a list", i.token("k1", `,"aud":"app","sub":"u1","tenant":["t"]`)},
		{"an access token of Cognito", i.token("k1", `,"client_id":"app","sub":"u1","tenant":"t","token_use":"access"`)},
		{"no token", "e30.e30"},
		{"empty", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := who(t, policy, url, v2(`"authorizer":null`, `"authorization":"Bearer `+tt.token+`"`))
			if got != (core.Identity{}) || core.CodeOf(err) != core.CodeUnauthorized {
				t.Errorf("identity %+v, error %v", got, err)
			}
		})
	}
	for n := range 100 {
		token := i.token(fmt.Sprintf("unknown-%d", n), `,"aud":"app","sub":"u1","tenant":"t"`)
		if _, err := who(t, policy, url, v2(`"authorizer":null`, `"authorization":"Bearer `+token+`"`)); core.CodeOf(err) != core.CodeUnauthorized {
			t.Fatalf("unknown key %d: error %v", n, err)
		}
	}
	if i.fetches != 1 {
		t.Errorf("%d fetches of the keys, want 1", i.fetches)
	}
}

func TestAccessTokensAreForTheirClient(t *testing.T) {
	i := newIssuer(t)
	policy := i.policy(t, append(byJWT, "REVEILLE_TOKEN_USE=access")...)
	tests := []struct {
		name, claims string
		code         core.Code
	}{
		{"for us", `,"client_id":"app","sub":"u1","tenant":"t","token_use":"access"`, ""},
		{"for another client", `,"client_id":"other","sub":"u1","tenant":"t","token_use":"access"`, core.CodeUnauthorized},
		{"for another client, with our name as audience", `,"client_id":"other","aud":"app","sub":"u1","tenant":"t","token_use":"access"`, core.CodeUnauthorized},
		{"an ID token", `,"aud":"app","sub":"u1","tenant":"t","token_use":"id"`, core.CodeUnauthorized},
		{"of no use", `,"aud":"app","client_id":"app","sub":"u1","tenant":"t"`, core.CodeUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := who(t, policy, url, v2(`"authorizer":null`, `"authorization":"Bearer `+i.token("k1", tt.claims)+`"`))
			if core.CodeOf(err) != tt.code {
				t.Errorf("error %v, want %q", err, tt.code)
			}
		})
	}
}
