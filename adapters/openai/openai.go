package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// Model is a provider of chat models. It is safe for concurrent use.
type Model struct {
	endpoint string
	client   *http.Client
	idle     time.Duration
	dialect  Dialect
	key      secret.Source
	header   func(http.Header, secret.String) // sets the credentials
}

// New checks the options and returns a model. It makes no request. The error
// names the option that is wrong.
func New(options Options) (*Model, error) {
	endpoint, err := options.endpoint()
	if err != nil {
		return nil, err
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	m := &Model{
		endpoint: endpoint.String(),
		client:   options.HTTPClient,
		idle:     options.IdleTimeout,
		dialect:  options.Dialect,
		key:      options.source(),
		header:   options.header,
	}
	if m.client == nil {
		m.client = defaultClient()
	}
	if m.idle == 0 {
		m.idle = DefaultIdleTimeout
	}
	if m.dialect == DialectAuto {
		m.dialect = dialectOf(endpoint.Hostname())
	}
	return m, nil
}

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *Model) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		err := m.infer(ctx, request, func(d model.Delta) bool { return yield(d, nil) })
		if err == nil {
			return
		}
		if cause := ctx.Err(); cause != nil {
			err = fmt.Errorf("openai: inference: %w", cause)
		}
		yield(model.Delta{}, err)
	}
}

// errIdle cancels a stream on which nothing came for too long.
var errIdle = errors.New("idle")

// infer makes the one attempt. It returns nil when the turn is complete and
// when yield asked to stop.
func (m *Model) infer(ctx context.Context, request model.Request, yield func(model.Delta) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, key, err := m.admitted(ctx, request)
	if err != nil {
		return err
	}
	redact := redactor(key)
	idle := cmp.Or(request.StreamIdleTimeout, m.idle)
	body := newIdleReader(response.Body, idle, func() { cancel(errIdle) })
	defer body.Close()
	if err := m.check(response, body, redact); err != nil {
		return err
	}
	stream := reader{events: newDecoder(body), redact: redact}
	complete, err := stream.each(yield)
	if complete {
		body.drain()
	}
	if err != nil && errors.Is(context.Cause(ctx), errIdle) {
		kind := model.KindTimeout
		if stream.turn.began {
			kind = model.KindInterrupted
		}
		return &model.Error{Kind: kind, Status: response.StatusCode, Message: fmt.Sprintf("openai: nothing came for %v", idle)}
	}
	return err
}

// admitted posts the request, once more with another key where the server refuses the
// first with 401 and there is another by now, and returns the key that it went with.
func (m *Model) admitted(ctx context.Context, request model.Request) (*http.Response, secret.String, error) {
	key, err := m.keyNow(ctx, secret.String{})
	if err != nil {
		return nil, key, err
	}
	response, err := m.post(ctx, request, key)
	if err != nil || response.StatusCode != http.StatusUnauthorized || key.IsZero() {
		return response, key, err
	}
	next, err := m.keyNow(ctx, key)
	if err != nil || next.Equal(key) {
		return response, key, nil // what the server said says more
	}
	_ = response.Body.Close()
	response, err = m.post(ctx, request, next)
	return response, next, err
}

// keyNow asks the source. Its failure is as one of the provider: it may pass, or the
// request is made without a key that there should be.
func (m *Model) keyNow(ctx context.Context, refused secret.String) (secret.String, error) {
	key, err := m.key(ctx, refused)
	switch {
	case err == nil && carried(key.Reveal()):
		return key, nil
	case err == nil:
		return key, &model.Error{Kind: model.KindUnauthorized, Message: "openai: the API key has a space, a line end or another character that a header cannot carry"}
	case ctx.Err() != nil:
		return key, err
	case core.CodeOf(err) == core.CodeUnavailable:
		return key, &model.Error{Kind: model.KindProvider, Message: "openai: the API key: " + err.Error()}
	}
	return key, &model.Error{Kind: model.KindUnauthorized, Message: "openai: the API key: " + err.Error()}
}

// post sends the request and returns the response, whatever its status.
func (m *Model) post(ctx context.Context, request model.Request, key secret.String) (*http.Response, error) {
	body, err := encode(request, m.dialect)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("openai: make the request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	m.header(r.Header, key)
	response, err := m.client.Do(r)
	if err != nil {
		return nil, unreachable(err, redactor(key))
	}
	return response, nil
}

// check returns the error of a response that is no event stream.
func (m *Model) check(response *http.Response, body io.Reader, redact func(string) string) error {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	ok := response.StatusCode == http.StatusOK
	// Some servers name no type, or a wrong one, for a stream: refuse only what
	// cannot be one.
	if ok && media != "application/json" && media != "text/html" {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came is enough for a message
	f := parseFailure(text)
	f.requestID = response.Header.Get("X-Request-Id")
	f.retryAfter = retryAfter(response.Header, time.Now())
	if ok && !f.found {
		f = failure{code: "invalid_request_error", message: "responded with " + media + " where a stream was asked for"}
	}
	if !ok {
		f.status = response.StatusCode
	}
	return f.err(redact)
}
