package gemini

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// name begins every error.
const name = "gemini"

// provider implements model.Model.
type provider struct {
	base   *url.URL
	bearer bool
	vertex bool
	client *wire.Client
}

var (
	_ model.Model   = (*provider)(nil)
	_ model.Checker = (*provider)(nil)
)

// New checks the options and returns a model, safe for concurrent use, which also
// implements [model.Checker]. It makes no request. The error names the wrong option.
func New(options Options) (model.Model, error) { return wire.Made(open(options)) }

func open(options Options) (*provider, error) {
	base, err := options.base()
	if err != nil {
		return nil, err
	}
	source, err := options.source()
	if err != nil {
		return nil, err
	}
	if err := wire.CheckIdle(name, options.IdleTimeout); err != nil {
		return nil, err
	}
	client, err := wire.New(wire.Client{Name: name, Base: base, HTTP: options.HTTPClient, Idle: options.IdleTimeout, Key: source, Parse: parseFailure})
	if err != nil {
		return nil, err
	}
	vertex := strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/publishers/google")
	return &provider{base: base, bearer: options.Token != nil, vertex: vertex, client: client}, nil
}

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *provider) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	endpoint, err := m.endpoint(request.Model)
	if err != nil {
		return wire.Failed(err)
	}
	body, err := encode(request, m.vertex)
	if err != nil {
		return wire.Failed(err)
	}
	post := wire.Post{URL: endpoint, Body: body, Header: m.header, Idle: request.StreamIdleTimeout}
	return m.client.Stream(ctx, post, func() wire.Turn { return &turn{} })
}

// Check implements model.Checker.
func (m *provider) Check(request model.Request) error {
	if _, err := m.endpoint(request.Model); err != nil {
		return wire.Refused(err)
	}
	body, err := skeleton(request)
	if err == nil {
		_, err = finish(body, request)
	}
	return wire.Refused(err)
}

// endpoint returns the URL of the one route that is used. A name with a slash is the
// path of a resource (tunedModels/x), any other one of the models.
func (m *provider) endpoint(text string) (string, error) {
	if text == "" {
		return "", invalid("the request names no model")
	}
	path := text
	if !strings.Contains(text, "/") {
		path = "models/" + text
	}
	for segment := range strings.SplitSeq(path, "/") {
		if strings.Trim(segment, ".") == "" || strings.ContainsFunc(segment, func(r rune) bool {
			return r >= 0x80 || !nameByte(byte(r)) && r != '@' // a tuned or a dated one
		}) {
			return "", invalid(fmt.Sprintf("the model %q is not valid in a URL, want A-Z a-z 0-9 _ . : - @ between slashes", core.Excerpt(text)))
		}
	}
	endpoint := m.base.JoinPath(path)
	return endpoint.String() + ":streamGenerateContent?alt=sse", nil
}

// header sets the credentials.
func (m *provider) header(h http.Header, key secret.String) {
	switch {
	case key.IsZero():
	case m.bearer:
		h.Set("Authorization", "Bearer "+key.Reveal())
	default:
		h.Set("X-Goog-Api-Key", key.Reveal())
	}
}
