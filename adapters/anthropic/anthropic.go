package anthropic

import (
	"context"
	"iter"
	"net/http"

	"github.com/reveille-run/reveille/adapters/modelwire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// Model is a provider of the Claude models. It is safe for concurrent use.
type Model struct {
	endpoint string
	client   *modelwire.Client
	options  Options
}

// New checks the options and returns a model. It makes no request. The error
// names the option that is wrong.
func New(options Options) (*Model, error) {
	base, err := options.base()
	if err != nil {
		return nil, err
	}
	key, err := options.check()
	if err != nil {
		return nil, err
	}
	options.APIKey, options.Key = "", nil // key has them
	return &Model{
		endpoint: base.JoinPath("v1", "messages").String(),
		client: modelwire.New(modelwire.Client{
			Name: name, HTTP: options.HTTPClient, Idle: options.IdleTimeout, Key: key, Parse: parseFailure,
		}),
		options: options,
	}, nil
}

// name begins every error.
const name = "anthropic"

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *Model) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	wire, err := encode(request)
	if err != nil {
		return modelwire.Failed(err)
	}
	post := modelwire.Post{
		URL: m.endpoint, Body: wire.body, Idle: request.StreamIdleTimeout,
		Header: func(h http.Header, key secret.String) { m.options.header(h, key, wire.beta) },
	}
	return m.client.Stream(ctx, post, func() modelwire.Turn { return &turn{} })
}

// Check implements model.Checker.
func (m *Model) Check(request model.Request) error {
	if request.Model == "" {
		return modelwire.Refused(invalid("the request names no model"))
	}
	wire, err := prepare(request, kinOf(request.Model), history{})
	if err != nil {
		return modelwire.Refused(err)
	}
	body, err := modelwire.Encode(name, wire)
	if err != nil {
		return modelwire.Refused(err)
	}
	_, err = modelwire.AddOptions(name, body, request.ProviderOptions, reserved...)
	return modelwire.Refused(err)
}
