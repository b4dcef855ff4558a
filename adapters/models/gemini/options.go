package gemini

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// defaultBaseURL is where the Gemini API listens.
const defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Options configures a model. The zero value means the Gemini API without a key, which
// it refuses. Printing it, and logging or encoding it as JSON, does not show the key.
type Options struct {
	// APIKey is sent as x-goog-api-key. Empty: none.
	APIKey string `json:"-"`
	// Key, if not nil, is called for the key of each request, in place of APIKey. If the
	// server refuses the key with 401, Key is called once more; if it returns another
	// key, the request is repeated.
	Key secret.Source `json:"-"`
	// Token, if not nil, is called as Key is, for an access token that is sent as a
	// bearer token, as Vertex AI requires.
	Token secret.Source `json:"-"`
	// BaseURL is the http or https URL before /models; a trailing slash is allowed. For
	// Vertex AI it ends in /publishers/google. Default:
	// https://generativelanguage.googleapis.com/v1beta.
	BaseURL string
	// IdleTimeout bounds every wait for the headers and bytes of a response, unless the
	// request has a timeout. Default 60 s.
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
	_, _ = fmt.Fprintf(f, "{APIKey:%s BaseURL:%s IdleTimeout:%v}", key, o.BaseURL, o.IdleTimeout)
}

func (o Options) base() (*url.URL, error) {
	return wire.BaseURL(name, cmp.Or(o.BaseURL, defaultBaseURL))
}

// source is where keys or tokens come from.
func (o Options) source() (secret.Source, error) {
	if o.Token == nil {
		return wire.Source(name, o.APIKey, o.Key)
	}
	if o.APIKey != "" || o.Key != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s: both an API key and a source of tokens are set, want one of them", name)
	}
	return o.Token, nil
}
