package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// chatProvider implements model.Model over Chat Completions.
type chatProvider struct {
	endpoint string
	client   *wire.Client
	dialect  Dialect
	kin      kin                              // of the dialect
	header   func(http.Header, secret.String) // sets the credentials
}

// New checks the options and returns a model, safe for concurrent use, which also
// implements [model.Checker]: over the Responses API if the dialect is
// [DialectResponses] or [DialectAzureResponses], otherwise over Chat Completions. It makes
// no request. The error names the wrong option.
func New(options Options) (model.Model, error) {
	switch options.Dialect {
	case DialectResponses:
		return wire.Made(openResponses(options, dialectAuto))
	case DialectAzureResponses:
		return wire.Made(openResponses(options, DialectAzure))
	}
	return wire.Made(openChat(options))
}

func openChat(options Options) (*chatProvider, error) {
	base, err := options.base()
	if err != nil {
		return nil, err
	}
	if options.ReasoningSummary != "" {
		return nil, core.Errorf(core.CodeInvalid, "openai: a reasoning summary needs the Responses API, Chat Completions has none")
	}
	key, err := options.check()
	if err != nil {
		return nil, err
	}
	client, err := options.client(base, key)
	if err != nil {
		return nil, err
	}
	dialect := cmp.Or(options.Dialect, dialectOf(base.Hostname()))
	return &chatProvider{
		endpoint: base.JoinPath("chat", "completions").String(),
		client:   client,
		dialect:  dialect, kin: kins[dialect],
		header: options.header,
	}, nil
}

// name begins every error.
const name = "openai"

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *chatProvider) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	body, err := encode(request, m.kin)
	if err != nil {
		return wire.Failed(err)
	}
	post := wire.Post{URL: m.endpoint, Body: body, Header: m.header, Idle: request.StreamIdleTimeout}
	return m.client.Stream(ctx, post, func() wire.Turn { return &turn{echo: m.kin.echo} })
}

// Check implements model.Checker.
func (m *chatProvider) Check(request model.Request) error {
	_, err := encode(request, m.kin)
	return wire.Refused(err)
}
