package egress

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/identity/bearer"
	"github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/gemini/vertex"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/adapters/outbound/webhook"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// credential is what every consumer sends, and no victim may see.
const credential = "sk-secret-0123456789"

// consumer sends requests to addresses that somebody configured.
type consumer struct {
	name string // also of the case
	room string // its package, below adapters
	// ask makes the consumer for an address and sends one request. It returns what went
	// wrong, at either time.
	ask func(t *testing.T, address string) error
}

var consumers = []consumer{
	{"openai", "models/openai", func(t *testing.T, address string) error {
		m, err := openai.New(openai.Options{APIKey: credential, BaseURL: address})
		return infer(t, m, err)
	}},
	{"openai responses", "models/openai", func(t *testing.T, address string) error {
		m, err := openai.New(openai.Options{APIKey: credential, BaseURL: address, Dialect: openai.DialectResponses})
		return infer(t, m, err)
	}},
	{"anthropic", "models/anthropic", func(t *testing.T, address string) error {
		m, err := anthropic.New(anthropic.Options{APIKey: credential, BaseURL: address})
		return infer(t, m, err)
	}},
	{"gemini", "models/gemini", func(t *testing.T, address string) error {
		m, err := gemini.New(gemini.Options{APIKey: credential, BaseURL: address})
		return infer(t, m, err)
	}},
	{"vertex", "models/gemini/vertex", func(t *testing.T, address string) error {
		m, err := vertex.Adapter(agent.ProviderSpec{APIKey: secret.New(credential), BaseURL: address})
		return infer(t, m, err)
	}},
	{"bedrock", "models/bedrock", func(t *testing.T, address string) error {
		variables := map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": credential, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": address}
		m, err := bedrock.New(bedrock.Options{AWS: awsenv.Config{Getenv: func(name string) string { return variables[name] }}})
		return infer(t, m, err)
	}},
	{"webhook", "outbound/webhook", func(t *testing.T, address string) error {
		w, err := webhook.New(webhook.Options{URL: address, Secret: secret.New("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"), Timeout: 5 * time.Second})
		if err != nil {
			return err
		}
		return w.Publish(t.Context(), mailbox.Announcement{ID: "m1", Type: "run.ended"})
	}},
	{"issuer keys", "identity/bearer", func(t *testing.T, address string) error {
		const issuer = "https://issuer.example"
		authenticate, err := bearer.New(bearer.Options{
			Env: env.System(), Tokens: caller.Tokens{Tenant: "t", Issuer: issuer, Clients: []string{"app"}}, KeysURL: address,
		})
		if err != nil {
			return err
		}
		r := httptest.NewRequest(http.MethodGet, "/v1/threads", http.NoBody)
		claims := fmt.Sprintf(`{"iss":%q,"aud":"app","sub":"u","exp":%d}`, issuer, time.Now().Add(time.Hour).Unix())
		r.Header.Set("Authorization", "Bearer "+oidctest.SignIDToken(signer(t), "k1", oidc.RS256, claims))
		_, err = authenticate(r)
		return err
	}},
}

var signingKey *rsa.PrivateKey

func signer(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	if signingKey == nil {
		var err error
		if signingKey, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			t.Fatal(err)
		}
	}
	return signingKey
}

// infer makes one inference of a model that New returned.
func infer(t *testing.T, m model.Model, err error) error {
	t.Helper()
	if err != nil {
		return err
	}
	request := model.Request{Model: "anthropic.claude-x", Messages: []core.Message{core.UserMessage("Hello").WithID("1")}, MaxTokens: 10}
	for _, err := range m.Stream(t.Context(), request) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestEachConsumerIsAttacked: what sends by the rules is in the table.
func TestEachConsumerIsAttacked(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Imports}}", "../../../adapters/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(line, " ")
		_, room, _ := strings.Cut(path, "/adapters/")
		shared := strings.Contains(imports, "adapters/internal/egress") || strings.Contains(imports, "adapters/models/internal/wire")
		if shared && room != "models/internal/wire" {
			got = append(got, room)
		}
	}
	for _, c := range consumers {
		want = append(want, c.room)
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("consumers of the table (-) and of the code (+):\n%s", diff)
	}
}
