package bearer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	identity "github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

const issuer = "https://issuer.example/pool"

// issuing is an issuer of the test, and the transport to it.
type issuing struct {
	key     *rsa.PrivateKey
	server  *oidctest.Server
	respond func(*http.Request) (*http.Response, error) // nil: as the server does
	asked   []string
}

func newIssuer(t *testing.T) *issuing {
	t.Helper()
	i := &issuing{server: &oidctest.Server{}}
	i.rotate(t, "k1")
	i.server.SetIssuer(issuer)
	return i
}

// rotate replaces the issuer's key by a new one.
func (i *issuing) rotate(t *testing.T, kid string) {
	t.Helper()
	var err error
	if i.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	i.server.PublicKeys = []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: kid, Algorithm: oidc.RS256}}
}

// RoundTrip implements http.RoundTripper.
func (i *issuing) RoundTrip(r *http.Request) (*http.Response, error) {
	i.asked = append(i.asked, r.URL.String())
	if i.respond != nil {
		return i.respond(r)
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/keys" // where the library's server has them
	w := httptest.NewRecorder()
	i.server.ServeHTTP(w, r)
	return w.Result(), nil
}

func (i *issuing) token(kid string) string {
	return oidctest.SignIDToken(i.key, kid, oidc.RS256, fmt.Sprintf(`{"iss":%q,"exp":%d,"aud":["a","b"],"sub":"u","n":7}`, issuer, time.Now().Add(24*time.Hour).Unix()))
}

// verifierOf is newVerifier with options that are right.
func verifierOf(t *testing.T, o Options) *verifier {
	t.Helper()
	v, err := newVerifier(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ask(v *verifier, authorization ...string) (caller.Token, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header["Authorization"] = authorization
	return v.caller(r)
}

func TestAGoodTokenTellsItsClaims(t *testing.T) {
	i := newIssuer(t)
	v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
	if len(i.asked) > 0 {
		t.Errorf("asked %q before the first token", i.asked)
	}
	for range 3 {
		got, err := ask(v, "Bearer "+i.token("k1"))
		want := caller.Token{Claims: caller.Claims{"iss": issuer, "sub": "u"}, Audience: []string{"a", "b"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("error %v, token:\n%s", err, diff)
		}
	}
	if diff := cmp.Diff([]string{"https://issuer.example/pool/.well-known/jwks.json"}, i.asked); diff != "" {
		t.Error(diff)
	}
}

func TestKeysCanBeElsewhere(t *testing.T) {
	i := newIssuer(t)
	v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, KeysURL: "https://keys.example/k", Transport: i})
	if _, err := ask(v, "bearer "+i.token("k1")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"https://keys.example/k"}, i.asked); diff != "" {
		t.Error(diff)
	}
}

func TestKeysOfEveryKind(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curveKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwardsKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		algorithm string
		key       crypto.Signer
		code      core.Code
	}{
		{"RS256", rsaKey, ""}, {"ES256", curveKey, ""}, {"EdDSA", edwardsKey, ""},
		{"RS512", rsaKey, core.CodeUnauthorized}, {"PS256", rsaKey, core.CodeUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.algorithm, func(t *testing.T) {
			i := newIssuer(t)
			i.server.PublicKeys = []oidctest.PublicKey{{PublicKey: tt.key.Public(), KeyID: "k", Algorithm: tt.algorithm}}
			claims := fmt.Sprintf(`{"iss":%q,"exp":%d,"sub":"u"}`, issuer, time.Now().Add(time.Hour).Unix())
			v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
			if _, err := ask(v, "Bearer "+oidctest.SignIDToken(tt.key, "k", tt.algorithm, claims)); core.CodeOf(err) != tt.code {
				t.Errorf("error %v, want %q", err, tt.code)
			}
		})
	}
}

func TestExactlyOneTokenIsRead(t *testing.T) {
	i := newIssuer(t)
	good := "Bearer " + i.token("k1")
	tests := []struct {
		name   string
		header []string
	}{
		{"none", nil},
		{"two", []string{good, good}},
		{"two, joined", []string{good + "," + good}},
		{"two, joined with a space", []string{good + ", " + good}},
		{"another scheme", []string{"Basic dTpw"}},
		{"a good token of another scheme", []string{strings.Replace(good, "Bearer", "DPoP", 1)}},
		{"no scheme", []string{strings.TrimPrefix(good, "Bearer ")}},
		{"JSON", []string{`Bearer {"payload":"e30.","signatures":[.]}`}},
		{"four parts", []string{good + ".x"}},
		{"two spaces", []string{strings.Replace(good, " ", "  ", 1)}},
		{"a signed request", []string{"AWS4-HMAC-SHA256 Credential=A, SignedHeaders=host, Signature=0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ask(verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i}), tt.header...)
			if !errors.Is(err, errNoToken) || err.Error() != "the request carries no bearer token" {
				t.Errorf("error %v", err)
			}
		})
	}
	if len(i.asked) > 0 {
		t.Errorf("asked %q for them", i.asked)
	}
}

func TestTokensThatComeTogetherWaitForOneFetch(t *testing.T) {
	i := newIssuer(t)
	v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
	token := "Bearer " + i.token("k1")
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			if _, err := ask(v, token); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if len(i.asked) != 1 {
		t.Errorf("%d fetches, want 1", len(i.asked))
	}
}

func TestUnknownKeysAreAskedForOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
		ask100 := func(want int) {
			t.Helper()
			for n := range 100 {
				if _, err := ask(v, "Bearer "+i.token(fmt.Sprint(n))); core.CodeOf(err) != core.CodeUnauthorized {
					t.Fatalf("error %v", err)
				}
			}
			if len(i.asked) != want {
				t.Errorf("%d fetches, want %d", len(i.asked), want)
			}
		}
		ask100(1)
		time.Sleep(59 * time.Second)
		ask100(1)
		time.Sleep(time.Second)
		ask100(2)
		// A new key of the issuer is known from then on.
		time.Sleep(time.Minute)
		i.rotate(t, "k2")
		if _, err := ask(v, "Bearer "+i.token("k2")); err != nil || len(i.asked) != 3 {
			t.Errorf("%d fetches, error %v", len(i.asked), err)
		}
	})
}

func TestAWithdrawnKeyEndsWithin15Minutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
		old := "Bearer " + i.token("k1")
		if _, err := ask(v, old); err != nil {
			t.Fatal(err)
		}
		i.rotate(t, "k2")
		time.Sleep(15*time.Minute - time.Second)
		if _, err := ask(v, old); err != nil {
			t.Errorf("error %v before the renewal", err)
		}
		time.Sleep(time.Second)
		if _, err := ask(v, old); core.CodeOf(err) != core.CodeUnauthorized {
			t.Errorf("error %v of a withdrawn key", err)
		}
	})
}

func TestKeysThatCannotBeRenewedServeAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
		token := "Bearer " + i.token("k1")
		if _, err := ask(v, token); err != nil {
			t.Fatal(err)
		}
		i.respond = func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }
		time.Sleep(time.Hour - time.Second)
		if _, err := ask(v, token); err != nil {
			t.Errorf("error %v", err)
		}
		time.Sleep(time.Second)
		if _, err := ask(v, token); core.CodeOf(err) != core.CodeUnavailable {
			t.Errorf("error %v of keys that are too old", err)
		}
		i.respond = nil
		time.Sleep(5 * time.Second)
		if _, err := ask(v, token); err != nil {
			t.Errorf("error %v", err)
		}
	})
}

// A service that nobody asked for an hour has keys that are too old. The first
// tokens that come then wait for new ones together.
func TestTokensThatComeTogetherAfterAnHourWaitForOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
		token := "Bearer " + i.token("k1")
		if _, err := ask(v, token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		slow := *i
		i.respond = func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return slow.RoundTrip(r)
		}
		var wait sync.WaitGroup
		for n := range 3 {
			wait.Go(func() {
				time.Sleep(time.Duration(n) * 100 * time.Millisecond)
				if _, err := ask(v, token); err != nil {
					t.Errorf("token %d: %v", n, err)
				}
			})
		}
		wait.Wait()
		if len(i.asked) != 2 {
			t.Errorf("%d fetches, want 2", len(i.asked))
		}
	})
}

func TestKeysMayBeOneMegabyte(t *testing.T) {
	i := newIssuer(t)
	i.respond = func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		r.URL.Path = "/keys"
		i.server.ServeHTTP(w, r)
		_, _ = w.WriteString(strings.Repeat(" ", 1<<20-w.Body.Len()))
		return w.Result(), nil
	}
	if _, err := ask(verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i}), "Bearer "+i.token("k1")); err != nil {
		t.Error(err)
	}
}

// pages is a body that does not end.
type pages struct{}

func (pages) Read(b []byte) (int, error) { return len(b), nil }
func (pages) Close() error               { return nil }

func TestKeysThatCannotBeHadAreNotTheClientsFault(t *testing.T) {
	response := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.WriteString(body)
			return w.Result(), nil
		}
	}
	tests := []struct {
		name    string
		respond func(*http.Request) (*http.Response, error)
	}{
		{"no connection", func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }},
		{"an error", response(500, "")},
		{"a redirect", response(302, "")},
		{"an error with keys", response(500, `{"keys":[{}]}`)},
		{"a byte too much", response(200, `{"keys":[{}]}`+strings.Repeat(" ", 1<<20+1-13))},
		{"no JSON", response(200, "<html>")},
		{"no keys", response(200, `{"keys":[]}`)},
		{"too much", func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: pages{}}, nil
		}},
		{"no response", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t)
				i.respond = tt.respond
				v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
				start := time.Now()
				for range 10 {
					if _, err := ask(v, "Bearer "+i.token("k1")); core.CodeOf(err) != core.CodeUnavailable {
						t.Errorf("error %v", err)
					}
				}
				if took := time.Since(start); took > 5*time.Second || len(i.asked) != 1 {
					t.Errorf("%d fetches in %v", len(i.asked), took)
				}
				i.respond = nil
				time.Sleep(5 * time.Second)
				if _, err := ask(v, "Bearer "+i.token("k1")); err != nil {
					t.Errorf("error %v after it is over", err)
				}
			})
		})
	}
}
