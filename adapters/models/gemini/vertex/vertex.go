package vertex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const (
	scope    = "https://www.googleapis.com/auth/cloud-platform" // of the tokens
	patience = 10 * time.Second                                 // for Google's response to a request for a token
)

// Adapter makes the client of a provider that is data: a value of agent.Parts.Adapters.
// With a key it is that of gemini.VertexAdapter. Without one, requests have tokens of the
// application default credentials. Options are "project" and "location"; their defaults
// are GOOGLE_CLOUD_PROJECT, or else the project of the credentials, and
// GOOGLE_CLOUD_LOCATION, or else global. It reads the file of the credentials and makes no
// request. An error has the code invalid and names what to set.
func Adapter(p agent.ProviderSpec) (model.Model, error) {
	if !p.APIKey.IsZero() || p.Key != nil {
		return gemini.VertexAdapter(p)
	}
	base, token, err := Endpoint(p)
	if err != nil {
		return nil, err
	}
	return gemini.New(gemini.Options{Token: token, BaseURL: base})
}

// Endpoint returns the address of Gemini on Vertex AI before /models, and a source of the
// tokens for it, of a provider without a key. Errors and options are those of [Adapter].
// For models of other publishers, see [Publisher].
func Endpoint(p agent.ProviderSpec) (base string, token secret.Source, err error) {
	var own struct {
		Project  string `json:"project"`
		Location string `json:"location"`
	}
	if err := wire.DecodeOptions(p.Options, &own); err != nil {
		return "", nil, err
	}
	found, err := load()
	if err != nil {
		return "", nil, err
	}
	base = p.BaseURL
	if base == "" {
		project := cmp.Or(own.Project, os.Getenv("GOOGLE_CLOUD_PROJECT"), found.project)
		if project == "" {
			return "", nil, core.Errorf(core.CodeInvalid, "gemini: the credentials name no project: set GOOGLE_CLOUD_PROJECT, or options.project of the provider")
		}
		if base, err = gemini.VertexURL(project, cmp.Or(own.Location, os.Getenv("GOOGLE_CLOUD_LOCATION"))); err != nil {
			return "", nil, err
		}
	}
	return base, found.token, nil
}

// Publisher returns the address of another publisher's models, such as anthropic, of an
// address that [Endpoint] returned. Your own address stays the same if it does not end in
// publishers/google.
func Publisher(base, publisher string) string {
	if before, ok := strings.CutSuffix(strings.TrimSuffix(base, "/"), "/publishers/google"); ok {
		return before + "/publishers/" + publisher
	}
	return base
}

// credentials are application default credentials.
type credentials struct {
	path    string                             // of their file
	project string                             // of a service account; empty: the file names none
	fresh   func() (oauth2.TokenSource, error) // a source that has no token yet

	mutex  sync.Mutex
	source oauth2.TokenSource // keeps its token until it expires
}

// load reads the file of the credentials. It looks nowhere else: the library would ask the
// metadata server of an instance, which a laptop and Lambda lack.
func load() (*credentials, error) {
	path, named := os.LookupEnv("GOOGLE_APPLICATION_CREDENTIALS")
	if !named || path == "" {
		path = wellKnown()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "gemini: Google has no credentials: run `gcloud auth application-default login`, or name a file in GOOGLE_APPLICATION_CREDENTIALS, or set GOOGLE_VERTEX_API_KEY: %w", err)
	}
	var file struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "gemini: Google's credentials in %s are not JSON", path)
	}
	rules, err := egress.Read(egress.Options{Local: true})
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "gemini: Google's credentials: %w", err)
	}
	client := rules.HTTPClient()
	client.Timeout = patience
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	c := &credentials{path: path}
	c.fresh = func() (oauth2.TokenSource, error) {
		read, err := google.CredentialsFromJSONWithType(ctx, text, file.Type, scope)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "gemini: Google's credentials in %s: %w", path, err)
		}
		c.project = read.ProjectID
		return read.TokenSource, nil
	}
	if c.source, err = c.fresh(); err != nil {
		return nil, err
	}
	return c, nil
}

// wellKnown is where gcloud keeps a person's login.
func wellKnown() string {
	folder := os.Getenv("APPDATA") // Windows
	if folder == "" {
		home, _ := os.UserHomeDir() // an empty one names a file that does not exist
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "gcloud", "application_default_credentials.json")
}

// token is a secret.Source of access tokens. Where the provider has refused one, it asks
// Google for another.
func (c *credentials) token(_ context.Context, refused secret.String) (secret.String, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !refused.IsZero() {
		source, err := c.fresh()
		if err != nil {
			return secret.String{}, err
		}
		c.source = source
	}
	t, err := c.source.Token()
	if err != nil {
		return secret.String{}, c.failed(err)
	}
	return secret.New(t.AccessToken), nil
}

// failed returns the error of a token that Google did not give: with the code unavailable
// where it may give one later.
func (c *credentials) failed(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		return core.Errorf(core.CodeInvalid, "Google refuses the credentials in %s with %s: log in again with `gcloud auth application-default login`, or name another file in GOOGLE_APPLICATION_CREDENTIALS", c.path, wire.OneLine(string(refused.Body), 200))
	}
	if errors.Is(err, egress.ErrRefused) {
		return core.Errorf(core.CodeInvalid, "access token of Google: %s", wire.OneLine(err.Error(), 300))
	}
	return core.Errorf(core.CodeUnavailable, "access token of Google: %s", wire.OneLine(err.Error(), 200))
}
