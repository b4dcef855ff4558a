//go:build aws

package deployed

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// issuer is an issuer of tokens with its keys, over https.
type issuer struct {
	url, roots string          // roots is a file with its certificate
	key        *rsa.PrivateKey // k1; the issuer has another one, k2
	fetches    atomic.Int64    // of its keys
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{
		{PublicKey: key.Public(), KeyID: "k1", Algorithm: oidc.RS256}, {PublicKey: other.Public(), KeyID: "k2", Algorithm: oidc.RS256},
	}}
	i := &issuer{key: key}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/jwks.json" {
			i.fetches.Add(1)
			r.URL.Path = "/keys" // where the library's server has them
		}
		keys.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	keys.SetIssuer(server.URL)
	i.url, i.roots = server.URL, filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(i.roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// claims are those of a good token, with more of them as JSON. A claim that is given twice
// counts as it is given last.
func (i *issuer) claims(more string) string {
	return fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"ann","tenant":"acme","exp":%d%s}`, i.url, time.Now().Add(time.Hour).Unix(), more)
}

// token signs the claims of a good token, with more of them.
func (i *issuer) token(more string) string {
	return oidctest.SignIDToken(i.key, "k1", oidc.RS256, i.claims(more))
}

// of is a good token of a user.
func (i *issuer) of(tenant, user string) string {
	return i.token(fmt.Sprintf(`,"tenant":%q,"sub":%q`, tenant, user))
}

// environment is that of a function that verifies these tokens.
func (i *issuer) environment(more ...string) []string {
	return append([]string{
		"REVEILLE_AUTH=jwt", "REVEILLE_ISSUER=" + i.url, "REVEILLE_CLIENTS=app", "REVEILLE_TENANT_CLAIM=tenant",
		"REVEILLE_EGRESS_ALLOW=127.0.0.1", "SSL_CERT_FILE=" + i.roots, "REVEILLE_SHOW_REQUESTS=on",
	}, more...)
}
