package anthropic

import (
	"context"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
	"iter"
	"net/http"
	"net/url"
)

// provider implements model.Model.
type provider struct {
	base    *url.URL
	client  *wire.Client
	options Options
}

// New checks the options and returns a model, safe for concurrent use, which also
// implements [model.Checker]. It makes no request. The error names the wrong option.
func New(options Options) (model.Model, error) { return wire.Made(open(options)) }

func open(options Options) (*provider, error) {
	base, err := options.base()
	if err != nil {
		return nil, err
	}
	key, err := options.check()
	if err != nil {
		return nil, err
	}
	client, err := wire.New(wire.Client{Name: name, Base: base, HTTP: options.HTTPClient, Idle: options.IdleTimeout, Key: key, Parse: parseFailure})
	if err != nil {
		return nil, err
	}
	options.APIKey, options.Key = "", nil // key has them
	return &provider{
		base:    base,
		client:  client,
		options: options,
	}, nil
}

// name begins every error.
const name = "anthropic"

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *provider) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	payload, err := encode(request, m.options.Vertex)
	if err != nil {
		return wire.Failed(err)
	}
	post := wire.Post{
		URL: m.endpoint(request.Model), Body: payload.body, Idle: request.StreamIdleTimeout,
		Header: func(h http.Header, key secret.String) { m.options.header(h, key, payload.beta) },
	}
	return m.client.Stream(ctx, post, func() wire.Turn { return &turn{} })
}

// endpoint is the URL of requests to a model.
func (m *provider) endpoint(name string) string {
	if m.options.Vertex {
		return m.base.JoinPath("models", url.PathEscape(name)+":streamRawPredict").String()
	}
	return m.base.JoinPath("v1", "messages").String()
}

// Check implements model.Checker.
func (m *provider) Check(request model.Request) error {
	if request.Model == "" {
		return wire.Refused(invalid("the request names no model"))
	}
	payload, err := prepare(request, kinOf(request.Model), history{})
	if err != nil {
		return wire.Refused(err)
	}
	body, err := wire.Encode(name, payload)
	if err != nil {
		return wire.Refused(err)
	}
	_, err = wire.AddOptions(name, body, request.ProviderOptions, reserved...)
	return wire.Refused(err)
}
