package vertex

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// server is one of tokens and of Vertex AI. It gives tokens that are numbered, and
// refuses those before the one that it accepts.
type server struct {
	*httptest.Server
	tokens  int // given
	accepts int // number of the first token that is valid
	refuses int // status of the server of tokens; 0: it gives tokens
	asked   []string
}

func (g *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		if g.refuses != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(g.refuses)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Account has been deleted"}`)
			return
		}
		g.tokens++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, g.tokens)
		return
	}
	g.asked = append(g.asked, r.URL.Path+" "+r.Header.Get("Authorization"))
	if r.Header.Get("Authorization") < fmt.Sprintf("Bearer token-%d", g.accepts) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi.\"}]},\"finishReason\":\"STOP\"}]}\n\n")
}

// open starts a server and names the file of a service account's credentials.
func open(t *testing.T) *server {
	t.Helper()
	g := &server{}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "of-the-file", "client_email": "a@b", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	})
	if err != nil {
		t.Fatal(err)
	}
	name(t, string(text))
	return g
}

// name writes the file of the credentials.
func name(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	return path
}

func ask(t *testing.T, m model.Model) (text string, err error) {
	t.Helper()
	for d, err := range m.Stream(t.Context(), model.Request{Model: "gemini-2.5-flash", Messages: []core.Message{core.UserMessage("hi")}}) {
		if err != nil {
			return text, err
		}
		text += d.Text
	}
	return text, nil
}

func TestRequestsHaveTokensOfTheCredentials(t *testing.T) {
	g := open(t)
	m, err := Adapter(agent.ProviderSpec{BaseURL: g.URL})
	if err != nil {
		t.Fatal(err)
	}
	if g.tokens != 0 {
		t.Errorf("%d tokens before the first request", g.tokens)
	}
	for range 2 { // a token is kept
		if text, err := ask(t, m); text != "Hi." || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	g.accepts = 2 // and replaced once Vertex refuses it
	if text, err := ask(t, m); text != "Hi." || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	const path = "/models/gemini-2.5-flash:streamGenerateContent Bearer token-"
	if diff := cmp.Diff([]string{path + "1", path + "1", path + "1", path + "2"}, g.asked); diff != "" {
		t.Error(diff)
	}
}

func TestTokensThatGoogleDoesNotGive(t *testing.T) {
	for status, want := range map[int]model.ErrorKind{400: model.KindUnauthorized, 503: model.KindProvider} {
		g := open(t)
		g.refuses = status
		m, err := Adapter(agent.ProviderSpec{BaseURL: g.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(t, m)
		e, ok := err.(*model.Error)
		if !ok || e.Kind != want || status == 400 && !strings.Contains(e.Message, "with {\"error\":\"invalid_grant\",\"error_description\":\"Account has been deleted\"}: log in again with `gcloud auth application-default login`") {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	const person = `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`
	tests := []struct {
		name, file string // "": no file
		project    string // GOOGLE_CLOUD_PROJECT
		spec       agent.ProviderSpec
		want       string // the beginning of the error; "": none
	}{
		{"a key needs no file", "", "", agent.ProviderSpec{APIKey: secret.New("k")}, ""},
		{"a person with a project", person, "p", agent.ProviderSpec{}, ""},
		{"a project of the options", person, "", agent.ProviderSpec{Options: json.RawMessage(`{"project":"p"}`)}, ""},
		{"no file", "", "p", agent.ProviderSpec{}, "gemini: Google has no credentials: run `gcloud auth application-default login`, or name a file in GOOGLE_APPLICATION_CREDENTIALS, or set GOOGLE_VERTEX_API_KEY: open "},
		{"no project", person, "", agent.ProviderSpec{}, "gemini: the credentials name no project: set GOOGLE_CLOUD_PROJECT, or options.project of the provider"},
		{"no JSON", "{", "p", agent.ProviderSpec{}, "gemini: Google's credentials in "},
		{"an unknown type", `{"type":"magic"}`, "p", agent.ProviderSpec{}, "gemini: Google's credentials in "},
		{"a project that is a path", person, "p/q", agent.ProviderSpec{}, `gemini: the project of Vertex AI is "p/q"`},
		{"an unknown option", person, "p", agent.ProviderSpec{Options: json.RawMessage(`{"region":"p"}`)}, `unknown field "region" in options`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("GOOGLE_CLOUD_PROJECT", tt.project)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
			if tt.file != "" {
				name(t, tt.file)
			}
			m, err := Adapter(tt.spec)
			if tt.want == "" && (err != nil || m == nil) || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want) || core.CodeOf(err) != core.CodeInvalid || m != nil) {
				t.Errorf("model %v, error %v, want %s", m, err, tt.want)
			}
		})
	}
}

func TestTheLoginOfAPersonIsFound(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	folder := filepath.Join(home, ".config", "gcloud")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "application_default_credentials.json"), []byte(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := Adapter(agent.ProviderSpec{}); err != nil || m == nil {
		t.Errorf("model %v, error %v", m, err)
	}
}

func TestTheAddressOfAnotherPublisher(t *testing.T) {
	for base, want := range map[string]string{
		"https://h/v1/projects/p/locations/global/publishers/google":  "https://h/v1/projects/p/locations/global/publishers/anthropic",
		"https://h/v1/projects/p/locations/global/publishers/google/": "https://h/v1/projects/p/locations/global/publishers/anthropic",
		"https://gateway.example/vertex":                              "https://gateway.example/vertex",
	} {
		if got := Publisher(base, "anthropic"); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}
