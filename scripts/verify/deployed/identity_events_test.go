//go:build aws

package deployed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// attempt is a request to the messages of a thread, as an event of an endpoint, and the
// literal status of the response. 200 is for the owner alone.
type attempt struct {
	name, function, event string
	want                  int
}

// v2 is an event of a Function URL and of an HTTP API, v1 that of a REST API, for a request
// to the messages of a thread. context is a part of the request context, headers are those
// of the request, both as JSON.
func v2(thread, context, headers string) string {
	return `{"version":"2.0","rawPath":"/v1/threads/` + thread + `/messages","headers":{` + headers + `},"requestContext":{"stage":"$default","http":{"method":"GET"},` + context + `}}`
}

func v1(thread, context, headers string) string {
	return `{"httpMethod":"GET","path":"/v1/threads/` + thread + `/messages","multiValueHeaders":{` + headers + `},"requestContext":{` + context + `}}`
}

const (
	unverified = `"authorizer":null`
	pool       = "us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211"
	otherPool  = "us-east-1:ffffffff-4b5a-4697-8877-665544332211"
)

// TestIdentitiesAreAttacked sends events as each endpoint makes them to running functions,
// one for each way to authenticate.
func TestIdentitiesAreAttacked(t *testing.T) {
	t.Parallel()
	w, i := newWorld(t), newIssuer(t)
	stream, api := build(t, "scripts/verify/deployed/stream", ""), build(t, "scripts/verify/deployed/api", "")
	settings := map[string][]string{
		"jwt": i.environment(), "access": i.environment("REVEILLE_TOKEN_USE=access"),
		"iam":     {"REVEILLE_AUTH=iam", "REVEILLE_TENANTS=" + pool + "=acme,AIDA1=acme,AROA1=acme,AIDA2=globex,222233334444=acme"},
		"gateway": {"REVEILLE_AUTH=gateway", "REVEILLE_TENANT_CLAIM=tenant", "REVEILLE_ISSUER=" + i.url, "REVEILLE_CLIENTS=app"},
		"lambda":  {"REVEILLE_AUTH=lambda", "REVEILLE_TENANT_CLAIM=tenant", "REVEILLE_USER_CLAIM=user"},
	}
	var functions []host.Function
	for name, variables := range settings {
		functions = append(functions, w.function(name, stream, 30*time.Second, variables...), w.function(name+" api", api, 30*time.Second, variables...))
	}
	w.run(t, functions...)
	for thread, owner := range map[string]string{"t-ann": "ann", "t-user": "iam:AIDA1", "t-role": "iam:AROA1", "t-pool": "cip:us-east-1:5b2c"} {
		_, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: "acme", Thread: thread}, User: owner,
			Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(jewels).WithID("m1")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range slices.Concat(tokens(t, i), unusual(i), contexts(i), signers()) {
		status, body := w.attempt(t, a)
		if status != a.want || strings.Contains(body, jewels) != (a.want == 200) {
			t.Errorf("%s: %s: %d, want %d: %.200s", a.function, a.name, status, a.want, body)
		}
	}
	i.flood(t, w)
}

// attempt invokes the function with the event.
func (w *world) attempt(t *testing.T, a attempt) (status int, body string) {
	t.Helper()
	result, err := w.host.Invoke(t.Context(), a.function, []byte(a.event))
	if err != nil {
		t.Fatalf("%s: %s: %v", a.function, a.name, err)
	}
	if result.Prelude != nil {
		return result.Prelude.StatusCode, string(result.Payload)
	}
	var response struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(result.Payload, &response); err != nil {
		t.Fatalf("%s: %s: %s", a.function, a.name, result.Payload)
	}
	return response.StatusCode, response.Body
}

// flood sends tokens with unknown keys to one process: they cost one request to the issuer.
func (i *issuer) flood(t *testing.T, w *world) {
	t.Helper()
	before, began := i.fetches.Load(), time.Now()
	for n := range 50 {
		token := oidctest.SignIDToken(i.key, fmt.Sprint("unknown-", n), oidc.RS256, i.claims(""))
		if status, _ := w.attempt(t, attempt{"an unknown key", "jwt", v2("t-ann", unverified, bearing(token)), 401}); status != 401 {
			t.Fatalf("unknown key %d: %d", n, status)
		}
	}
	if fetched, most := i.fetches.Load()-before, 1+int64(time.Since(began)/time.Minute); fetched > most {
		t.Errorf("50 unknown keys cost %d requests to the issuer, want %d", fetched, most)
	}
}

// bearing is the header of a token.
func bearing(token string) string { return `"authorization":"Bearer ` + token + `"` }

// tokens are tokens at a function that verifies them. Only the claims of good ones count.
func tokens(t *testing.T, i *issuer) (all []attempt) {
	t.Helper()
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	der, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	shared := func(secret []byte) string {
		signed := part(`{"alg":"HS256","kid":"k1"}`) + "." + part(i.claims(""))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	at := func(moment time.Duration) string { return fmt.Sprint(time.Now().Add(moment).Unix()) }
	good := i.token("")
	header, rest, _ := strings.Cut(good, ".")
	_, signature, _ := strings.Cut(rest, ".")
	for _, c := range []struct {
		name, token string
		want        int
	}{
		{"ann's", good, 200},
		{"for several clients", i.token(`,"aud":["other","app"]`), 200},
		{"another user's", i.of("acme", "bob"), 404},
		{"of another tenant", i.of("globex", "ann"), 404},
		{"of a tenant in other letters", i.of("ACME", "ann"), 404},
		{"of a user in other letters", i.of("acme", "Ann"), 404},
		{"signed by another key", newIssuer(t).token(`,"iss":"` + i.url + `"`), 401},
		{"signed by a key of another kind", oidctest.SignIDToken(curve, "k1", oidc.ES256, i.claims("")), 401},
		{"with the name of the issuer's other key", oidctest.SignIDToken(i.key, "k2", oidc.RS256, i.claims("")), 401},
		{"not signed", part(`{"alg":"none"}`) + "." + part(i.claims("")) + ".", 401},
		{"not signed, in other letters", part(`{"alg":"None","kid":"k1"}`) + "." + part(i.claims("")) + ".", 401},
		{"signed by the public key as a secret", shared(public), 401},
		{"signed by the public key's bytes as a secret", shared(der), 401},
		{"with the claims of another", header + "." + part(i.claims(`,"sub":"ann","admin":true`)) + "." + signature, 401},
		{"without its signature", strings.TrimSuffix(good, signature), 401},
		{"of another issuer", i.token(`,"iss":"https://other.example"`), 401},
		{"of an issuer that differs by a slash", i.token(`,"iss":"` + i.url + `/"`), 401},
		{"expired", i.token(`,"exp":` + at(-time.Second)), 401},
		{"without end", i.token(`,"exp":null`), 401},
		{"not yet valid", i.token(`,"nbf":` + at(10*time.Minute)), 401},
		{"for another client", i.token(`,"aud":"other"`), 401},
		{"for nobody", i.token(`,"aud":null`), 401},
		{"of Cognito, for access", i.token(`,"token_use":"access","client_id":"app"`), 401},
		{"of an unknown use", i.token(`,"token_use":"refresh"`), 401},
		{"without tenant", i.token(`,"tenant":null`), 401},
		{"of an empty tenant", i.token(`,"tenant":""`), 401},
		{"of a tenant that is a number", i.token(`,"tenant":7`), 401},
		{"of a list of tenants", i.token(`,"tenant":["acme"]`), 401},
		{"of a tenant that names a record", i.token(`,"tenant":"acme#t-ann"`), 401},
		{"of a tenant that is a path", i.token(`,"tenant":"x/../acme"`), 401},
		{"of a tenant with a space", i.token(`,"tenant":" acme"`), 401},
		{"of a tenant with another alphabet's letter", i.token(`,"tenant":"\u0430cme"`), 401},
		{"without user", i.token(`,"sub":null`), 401},
		{"of an empty user", i.token(`,"sub":""`), 401},
		{"of a user that is a number", i.token(`,"sub":7`), 401},
		{"no token", "e30.e30", 401},
		{"empty", "", 401},
	} {
		all = append(all,
			attempt{"a token " + c.name, "jwt", v2("t-ann", unverified, bearing(c.token)), c.want},
			attempt{"a token " + c.name, "jwt api", v2("t-ann", unverified, bearing(c.token)), c.want},
			attempt{"a token " + c.name + ", through a REST API", "jwt", v1("t-ann", unverified, `"Authorization":["Bearer `+c.token+`"]`), c.want})
	}
	for _, c := range []struct {
		name, claims string
		want         int
	}{
		{"for this client", `,"aud":null,"token_use":"access","client_id":"app"`, 200},
		{"for another client", `,"aud":null,"token_use":"access","client_id":"other"`, 401},
		{"for another client, with ours as audience", `,"token_use":"access","client_id":"other"`, 401},
		{"without client", `,"token_use":"access"`, 401},
		{"that is an ID token", `,"token_use":"id"`, 401},
		{"of no use", ``, 401},
	} {
		all = append(all, attempt{"an access token " + c.name, "access", v2("t-ann", unverified, bearing(i.token(c.claims))), c.want})
	}
	return all
}

// unusual are good tokens in unusual places, and what callers can write besides.
func unusual(i *issuer) []attempt {
	ann, bob := i.token(""), i.of("acme", "bob")
	forged := `,"x-tenant":"acme","x-user":"ann","x-amzn-oidc-identity":"ann","x-amzn-oidc-data":"` + ann + `","x-forwarded-user":"ann","x-golambdaproxy-apigw-context":"{\"authorizer\":{\"claims\":{\"sub\":\"ann\",\"tenant\":\"acme\"}}}"`
	claims := `"authorizer":{"jwt":{"claims":{"iss":"` + i.url + `","aud":"app","sub":"ann","tenant":"acme"},"scopes":null}}`
	return []attempt{
		{"nothing", "jwt", v2("t-ann", unverified, ``), 401},
		{"small letters", "jwt", v2("t-ann", unverified, `"authorization":"bearer `+ann+`"`), 200},
		{"another scheme", "jwt", v2("t-ann", unverified, `"authorization":"Basic `+ann+`"`), 401},
		{"no scheme", "jwt", v2("t-ann", unverified, `"authorization":"`+ann+`"`), 401},
		{"two tokens", "jwt", v2("t-ann", unverified, `"authorization":"Bearer `+bob+`,Bearer `+ann+`"`), 401},
		{"two tokens, through a REST API", "jwt", v1("t-ann", unverified, `"Authorization":["Bearer `+bob+`","Bearer `+ann+`"]`), 401},
		{"two names of the header", "jwt", v1("t-ann", unverified, `"Authorization":["Bearer `+bob+`"],"authorization":["Bearer `+ann+`"]`), 401},
		{"another user's token and forged headers", "jwt", v2("t-ann", unverified, bearing(bob)+forged), 404},
		{"forged headers alone", "jwt", v2("t-ann", unverified, forged[1:]), 401},
		{"a token in the query", "jwt", strings.Replace(v2("t-ann", unverified, ``), `"headers"`, `"rawQueryString":"access_token=`+ann+`","headers"`, 1), 401},
		{"a token in a cookie", "jwt", strings.Replace(v2("t-ann", unverified, ``), `"headers"`, `"cookies":["authorization=Bearer `+ann+`"],"headers"`, 1), 401},
		{"claims of a gateway", "jwt", v2("t-ann", claims, ``), 401},
		{"claims of a gateway", "jwt api", v2("t-ann", claims, ``), 401},
		{"claims of a gateway and another user's token", "jwt api", v2("t-ann", claims, bearing(bob)), 404},
		{"a signed request", "jwt", v2("t-ann", `"authorizer":{"iam":{"accountId":"111122223333","userId":"AIDA1","userArn":"a"}}`, ``), 401},
	}
}
