package anthropic

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// defaultBaseURL is where Anthropic listens.
const defaultBaseURL = "https://api.anthropic.com"

// defaultVersion is the version of the API that the requests are written for.
const defaultVersion = "2023-06-01"

// Options configures a model. The zero value means Anthropic without a key, which it
// refuses. Printing it, and logging or encoding it as JSON, does not show the key.
type Options struct {
	// APIKey is sent as x-api-key. Empty: none, for local servers.
	APIKey string `json:"-"`
	// Key, if not nil, is called for the key of each request, in place of APIKey. If the
	// server refuses the key with 401, Key is called once more; if it returns another
	// key, the request is repeated.
	Key secret.Source `json:"-"`
	// BaseURL is the http or https URL before /v1/messages; a trailing slash is allowed.
	// Default: https://api.anthropic.com.
	BaseURL string
	// Vertex means that requests have the form of Vertex AI. BaseURL is then required: it is
	// the URL before /models, which ends in publishers/anthropic. Keys are access tokens of
	// Google, and Version is not sent.
	Vertex bool
	// Version is sent as anthropic-version. Default: 2023-06-01, the version that the
	// requests are written for.
	Version string
	// Betas are beta features that requests use, by their names in anthropic-beta. The
	// adapter adds the features that it needs itself.
	Betas []string
	// IdleTimeout bounds the wait for the headers of a response and every wait for its
	// next bytes, pings included, unless the request has a timeout. Default 60 s.
	IdleTimeout time.Duration
	// HTTPClient makes the requests; it should have no Timeout, which would end long
	// turns. Redirects are followed only if it has its own CheckRedirect. Default: a client
	// that reaches public hosts by https, hosts in REVEILLE_EGRESS_ALLOW, and, outside
	// Lambda, this machine.
	HTTPClient *http.Client `json:"-"`
}

// Format implements fmt.Formatter without the key.
func (o Options) Format(f fmt.State, _ rune) {
	key := ""
	if o.APIKey != "" {
		key = "***"
	}
	_, _ = fmt.Fprintf(f, "{APIKey:%s BaseURL:%s Version:%s Betas:%v IdleTimeout:%v}", key, o.BaseURL, o.Version, o.Betas, o.IdleTimeout)
}

// base returns the URL before the route.
func (o Options) base() (*url.URL, error) {
	if o.Vertex && o.BaseURL == "" {
		return nil, core.Errorf(core.CodeInvalid, "%s: base URL is missing, want the address of Vertex AI before /models", name)
	}
	return wire.BaseURL(name, cmp.Or(o.BaseURL, defaultBaseURL))
}

// check validates the options but the URL, and returns where keys come from.
func (o Options) check() (secret.Source, error) {
	key, err := wire.Source(name, o.APIKey, o.Key)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeader(name, "version", o.Version); err != nil {
		return nil, err
	}
	for _, beta := range o.Betas {
		if err := wire.CheckHeader(name, "beta "+fmt.Sprintf("%q", beta), beta); err != nil {
			return nil, err
		}
	}
	return key, wire.CheckIdle(name, o.IdleTimeout)
}

// header sets the credentials, the version and the betas, beta among them.
func (o Options) header(h http.Header, key secret.String, beta string) {
	switch {
	case o.Vertex && !key.IsZero():
		h.Set("Authorization", "Bearer "+key.Reveal())
	case !o.Vertex && !key.IsZero():
		h.Set("X-Api-Key", key.Reveal())
	}
	if !o.Vertex {
		h.Set("Anthropic-Version", cmp.Or(o.Version, defaultVersion))
	}
	betas := o.Betas
	if beta != "" && !slices.Contains(betas, beta) {
		betas = append(slices.Clone(betas), beta)
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
}
