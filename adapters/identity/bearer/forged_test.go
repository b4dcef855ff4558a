package bearer

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	identity "github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

func part(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// signed is a token whose signature is an HMAC under a secret.
func signed(header, claims string, secret []byte) string {
	text := part([]byte(header)) + "." + part([]byte(claims))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

// The keys that everybody can read sign nothing, whichever way a token says they do, and
// no token says where its key is.
func TestWhatTheIssuerDidNotSign(t *testing.T) {
	i := newIssuer(t)
	der, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claims := fmt.Sprintf(`{"iss":%q,"exp":%d,"aud":["a"],"sub":"u"}`, issuer, time.Now().Add(time.Hour).Unix())
	own, err := json.Marshal(map[string]string{
		"kty": "RSA", "kid": "k1", "n": part(stranger.N.Bytes()), "e": part(big.NewInt(int64(stranger.E)).Bytes()),
	})
	if err != nil {
		t.Fatal(err)
	}
	// resigned is a token of the stranger's key with another header.
	resigned := func(header string) string {
		text := part([]byte(header)) + "." + part([]byte(claims))
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, stranger, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + part(signature)
	}
	good := i.token("k1")
	none := func(algorithm string) string {
		return part([]byte(`{"alg":"`+algorithm+`","kid":"k1"}`)) + "." + part([]byte(claims)) + "."
	}
	const hs256 = `{"alg":"HS256","kid":"k1"}`
	for name, token := range map[string]string{
		"alg none":                             none("none"),
		"alg None":                             none("None"),
		"alg none, with a signature":           none("none") + "AA",
		"alg is empty":                         none(""),
		"HS256 with the public key as PEM":     signed(hs256, claims, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HS256 with the public key as DER":     signed(hs256, claims, der),
		"HS256 with the modulus":               signed(hs256, claims, i.key.N.Bytes()),
		"HS256 with nothing":                   signed(hs256, claims, nil),
		"RS256 that is an HMAC":                signed(`{"alg":"RS256","kid":"k1"}`, claims, der),
		"a key of its own under a known id":    oidctest.SignIDToken(stranger, "k1", oidc.RS256, claims),
		"a key that it brings":                 resigned(`{"alg":"RS256","kid":"k1","jwk":` + string(own) + `}`),
		"a key that it points to":              resigned(`{"alg":"RS256","kid":"k1","jku":"https://evil.example/keys"}`),
		"a certificate that it points to":      resigned(`{"alg":"RS256","kid":"k1","x5u":"https://evil.example/cert"}`),
		"without a key's id, by another":       resigned(`{"alg":"RS256"}`),
		"an extension that must be understood": resigned(`{"alg":"RS256","kid":"k1","crit":["b64"],"b64":false}`),
		"other claims under a good signature":  good[:len(part([]byte(`{"alg":"RS256","kid":"k1"}`)))+1] + part([]byte(claims)) + good[strings.LastIndexByte(good, '.'):],
		"a signature that was cut":             good[:len(good)-4],
	} {
		t.Run(name, func(t *testing.T) {
			v := verifierOf(t, Options{Env: env.System(), Tokens: identity.Tokens{Issuer: issuer}, Transport: i})
			if _, err := ask(v, "Bearer "+good); err != nil {
				t.Fatalf("a good token: %v", err)
			}
			if got, err := ask(v, "Bearer "+token); core.CodeOf(err) != core.CodeUnauthorized {
				t.Errorf("token %+v, error %v", got, err)
			}
		})
	}
	elsewhere := map[string]bool{}
	for _, url := range i.asked {
		elsewhere[url] = true
	}
	if diff := cmp.Diff(map[string]bool{issuer + "/.well-known/jwks.json": true}, elsewhere); diff != "" {
		t.Errorf("keys were asked for elsewhere:\n%s", diff)
	}
}
