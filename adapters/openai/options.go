package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// DefaultBaseURL is where OpenAI listens.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultIdleTimeout is how long a stream may say nothing.
const DefaultIdleTimeout = 60 * time.Second

// headerTimeout bounds the wait for the response headers. It is longer than the
// idle timeout because some servers hold them back until the first token.
const headerTimeout = 120 * time.Second

// Dialect says how a server wants the limit on a turn's tokens spelled.
type Dialect string

// The dialects. OpenAI's reasoning models refuse max_tokens; most other servers
// know nothing else, and some refuse unknown fields.
const (
	DialectAuto       Dialect = ""           // openai for the hosts of OpenAI and Azure, else compatible
	DialectOpenAI     Dialect = "openai"     // max_completion_tokens
	DialectCompatible Dialect = "compatible" // max_tokens
)

// dialectOf is what DialectAuto means for a host.
func dialectOf(host string) Dialect {
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com") {
		return DialectOpenAI
	}
	return DialectCompatible
}

// Options configures a [Model]. The zero value means OpenAI without a key.
// Printing it, and logging or encoding it as JSON, does not show the key.
type Options struct {
	// APIKey is sent as a bearer token. Empty: none, for local servers.
	APIKey string `json:"-"`
	// Key, if not nil, is asked for the key of each request instead; of a server that
	// refuses it with 401 once more, and if it is another then, the request is made again.
	Key secret.Source `json:"-"`
	// BaseURL is the http or https URL before /chat/completions; a trailing
	// slash is tolerated. Empty: [DefaultBaseURL].
	BaseURL string
	// Organization is sent as OpenAI-Organization unless empty.
	Organization string
	// Dialect is how the token limit is spelled.
	Dialect Dialect
	// IdleTimeout bounds every wait for the next bytes of a response, comments
	// included, of a request that has no time of its own. 0: [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// HTTPClient makes the requests; it should have no Timeout, which would cut
	// long turns. Nil: one of its own that waits at most 120 s for the
	// response headers and follows no redirects.
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

// endpoint returns the URL of the one route that is used.
func (o Options) endpoint() (*url.URL, error) {
	base := o.BaseURL
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, core.Errorf(core.CodeInvalid, "openai: base URL is not a URL") // the error would quote it, with a password perhaps
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, core.Errorf(core.CodeInvalid, "openai: base URL %q is not an absolute http or https URL", core.Excerpt(u.Redacted()))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, core.Errorf(core.CodeInvalid, "openai: base URL has a user, a query or a fragment; it may have a path only")
	}
	return u.JoinPath("chat", "completions"), nil
}

// check validates the options but the URL.
func (o Options) check() error {
	if o.APIKey != "" && o.Key != nil {
		return core.Errorf(core.CodeInvalid, "openai: there is an API key and a source of one, give one of them")
	}
	for _, value := range []struct{ name, text string }{{"API key", o.APIKey}, {"organization", o.Organization}} {
		if !carried(value.text) {
			return core.Errorf(core.CodeInvalid, "openai: %s has a space, a line end or another character that a header cannot carry", value.name)
		}
	}
	if o.IdleTimeout < 0 {
		return core.Errorf(core.CodeInvalid, "openai: idle timeout %v is negative", o.IdleTimeout)
	}
	switch o.Dialect {
	case DialectAuto, DialectOpenAI, DialectCompatible:
		return nil
	}
	return core.Errorf(core.CodeInvalid, "openai: dialect %q is unknown, allowed are openai and compatible", core.Excerpt(string(o.Dialect)))
}

// carried reports whether a header can carry text; a line end from a file is what most
// often cannot be.
func carried(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// source is where keys come from, in each case.
func (o Options) source() secret.Source {
	if o.Key != nil {
		return o.Key
	}
	key := secret.New(o.APIKey)
	return func(context.Context, secret.String) (secret.String, error) { return key, nil }
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

// redactor removes the key from text: servers quote it in their refusals.
func redactor(key secret.String) func(text string) string {
	return func(text string) string {
		if key.IsZero() {
			return text
		}
		return strings.ReplaceAll(text, key.Reveal(), "***")
	}
}

func defaultClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTimeout
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
