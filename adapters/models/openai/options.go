package openai

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// defaultBaseURL is where OpenAI listens.
const defaultBaseURL = "https://api.openai.com/v1"

// Options configures a model. The zero value means OpenAI without a key.
// Printing it, and logging or encoding it as JSON, does not show the key.
type Options struct {
	// APIKey is sent as a bearer token. Empty: none, for local servers.
	APIKey string `json:"-"`
	// Key, if not nil, is called for the key of each request, in place of APIKey. If the
	// server refuses the key with 401, Key is called once more; if it returns another
	// key, the request is repeated.
	Key secret.Source `json:"-"`
	// BaseURL is the http or https URL before /chat/completions or /responses; a trailing
	// slash is allowed. Default: the address of the dialect's servers, without a dialect
	// https://api.openai.com/v1. The dialects azure and compatible have no default. At
	// Azure the endpoint of a resource is enough, https://NAME.openai.azure.com: a URL
	// without a path gets /openai/v1.
	BaseURL string
	// Organization is sent as OpenAI-Organization unless empty.
	Organization string
	// Dialect is the kind of server or API. Default: Chat Completions, with the dialect
	// of the host of BaseURL.
	Dialect Dialect
	// ReasoningSummary asks the Responses API for the text of the model's reasoning:
	// auto, concise or detailed. Empty: no text. OpenAI requires a verified organization
	// for it. Chat Completions does not support it.
	ReasoningSummary string
	// IdleTimeout bounds the wait for the headers of a response and every wait for its
	// next bytes, comments included, unless the request has a timeout. Default 60 s.
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
	_, _ = fmt.Fprintf(f, "{APIKey:%s BaseURL:%s Organization:%s Dialect:%s IdleTimeout:%v}", key, o.BaseURL, o.Organization, o.Dialect, o.IdleTimeout)
}

// base returns the URL before the routes.
func (o Options) base() (*url.URL, error) {
	switch o.Dialect {
	case DialectAzure, DialectCompatible:
		if o.BaseURL == "" {
			return nil, core.Errorf(core.CodeInvalid, "openai: servers of the dialect %q have no default address, want a base URL", o.Dialect)
		}
	}
	base, err := wire.BaseURL(name, cmp.Or(o.BaseURL, kins[o.Dialect].baseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	if azure := cmp.Or(o.Dialect, dialectOf(base.Hostname())) == DialectAzure; azure && strings.Trim(base.Path, "/") == "" {
		base = base.JoinPath("openai", "v1")
	}
	return base, nil
}

// check validates the options but the URL, and returns where keys come from.
func (o Options) check() (secret.Source, error) {
	key, err := wire.Source(name, o.APIKey, o.Key)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeader(name, "organization", o.Organization); err != nil {
		return nil, err
	}
	if err := wire.CheckIdle(name, o.IdleTimeout); err != nil {
		return nil, err
	}
	switch o.ReasoningSummary {
	case "", "auto", "concise", "detailed":
	default:
		return nil, core.Errorf(core.CodeInvalid, "openai: reasoning summary is %q, allowed are auto, concise and detailed", core.Excerpt(o.ReasoningSummary))
	}
	return key, o.Dialect.check()
}

// client returns the client of the checked options.
func (o Options) client(base *url.URL, key secret.Source) (*wire.Client, error) {
	return wire.New(wire.Client{Name: name, Base: base, HTTP: o.HTTPClient, Idle: o.IdleTimeout, Key: key, Parse: parseFailure})
}

// header sets the credentials.
func (o Options) header(h http.Header, key secret.String) {
	if !key.IsZero() {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
	if o.Organization != "" {
		h.Set("OpenAI-Organization", o.Organization)
	}
}
