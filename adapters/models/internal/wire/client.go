package wire

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
	"net/url"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// DefaultIdleTimeout is the longest time without data in a stream.
const DefaultIdleTimeout = 60 * time.Second

// Client makes the requests of one adapter. It is safe for concurrent use once its
// fields are set. Name, Base and Parse are required.
type Client struct {
	Name  string        // of the adapter; every error begins with it
	Base  *url.URL      // of the provider; it is checked by the rules for outgoing requests
	HTTP  *http.Client  // without a Timeout, which would end long turns; nil: one by these rules
	Idle  time.Duration // bounds every wait for the headers and for the next bytes; 0: [DefaultIdleTimeout]
	Key   secret.Source // called for each request's key; nil: requests have none
	Parse Parse         // reads the body of a refusal
}

// Parse reads the body of a refusal with a status, in the provider's form. If the body
// has another form, found is false, and the failure's message is the body's text. The
// client sets the fields that Parse does not set: Status, RequestID and RetryAfter.
type Parse func(status int, body []byte) (f Failure, found bool)

// Post is one request.
type Post struct {
	URL    string
	Body   []byte                           // JSON
	Header func(http.Header, secret.String) // sets credentials and other headers of the provider; nil: none
	Idle   time.Duration                    // 0: the client's
}

// New returns c with its defaults filled in. The default HTTP client has no timeout for
// the response headers, which [Client.Stream] limits itself: a request may set a longer
// timeout than a client could. No client follows redirects, which could carry a key
// elsewhere, unless it has its own CheckRedirect. If the rules for outgoing requests refuse
// Base, or cannot be read, the error has the code invalid; they do not apply to a given
// HTTP client.
func New(c Client) (*Client, error) {
	switch {
	case c.HTTP == nil:
		rules, err := egress.Read(egress.Options{Local: true})
		if err == nil {
			err = rules.Check(c.Base)
		}
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "%s: base URL: %w", c.Name, err)
		}
		c.HTTP = rules.HTTPClient()
	case c.HTTP.CheckRedirect == nil:
		own := *c.HTTP
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.HTTP = &own
	}
	c.Idle = cmp.Or(c.Idle, DefaultIdleTimeout)
	if c.Key == nil {
		c.Key = func(context.Context, secret.String) (secret.String, error) { return secret.String{}, nil }
	}
	return &c, nil
}

// Failed is the stream of an inference whose request cannot be made.
func Failed(err error) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{}, err) }
}

// Stream posts and yields the deltas of the response, DeltaStop last. begin makes the
// turn that reads it. The idle timeout bounds the wait for the headers, which some
// servers delay until the first token, and each later wait for data. A failure of the
// provider or of the connection is a *model.Error; when ctx ends, the error wraps
// ctx.Err() instead. Breaking out of the loop closes the connection.
func (c *Client) Stream(ctx context.Context, post Post, begin func() Turn) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		err := c.infer(ctx, post, begin(), func(d model.Delta) bool { return yield(d, nil) })
		if err == nil {
			return
		}
		if cause := ctx.Err(); cause != nil {
			err = fmt.Errorf("%s: inference: %w", c.Name, cause)
		}
		yield(model.Delta{}, err)
	}
}

// errIdle cancels a stream on which nothing came for too long.
var errIdle = errors.New("idle")

// infer makes the one attempt. It returns nil when the turn is complete and
// when yield asked to stop.
func (c *Client) infer(ctx context.Context, post Post, turn Turn, yield func(model.Delta) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := cmp.Or(post.Idle, c.Idle)
	patience := newPatience(idle, func() { cancel(errIdle) })
	response, key, err := c.admitted(ctx, post, patience)
	if err != nil {
		if errors.Is(context.Cause(ctx), errIdle) {
			return c.silent(model.KindTimeout, 0, idle)
		}
		return err
	}
	body := &idleReader{body: response.Body, patience: patience}
	defer body.Close()
	if err := c.check(response, body, key); err != nil {
		return err
	}
	began := false
	complete, err := Read(body, turn, func(d model.Delta) bool {
		began = true
		return yield(d)
	})
	if complete {
		body.drain()
	}
	if err != nil && errors.Is(context.Cause(ctx), errIdle) {
		kind := model.KindTimeout
		if began {
			kind = model.KindInterrupted
		}
		return c.silent(kind, response.StatusCode, idle)
	}
	if err != nil {
		return c.failed(err, key)
	}
	return nil
}

// silent is the error of a server that sent nothing; status is 0 before its headers.
func (c *Client) silent(kind model.ErrorKind, status int, idle time.Duration) error {
	return &model.Error{Kind: kind, Status: status, Message: fmt.Sprintf("%s: no data for %v", c.Name, idle)}
}

// failed returns the error of a stream as a *model.Error.
func (c *Client) failed(err error, key secret.String) error {
	var f Failure
	if !errors.As(err, &f) {
		f = Failure{Kind: model.KindInterrupted, Message: err.Error()}
	}
	return f.named(c.Name, key)
}

// admitted posts the request, once more with another key where the server refuses the
// first with 401 and there is another by now, and returns the key that it went with.
func (c *Client) admitted(ctx context.Context, post Post, patience *patience) (*http.Response, secret.String, error) {
	key, err := c.keyNow(ctx, secret.String{})
	if err != nil {
		return nil, key, err
	}
	response, err := c.post(ctx, post, key, patience)
	if err != nil || response.StatusCode != http.StatusUnauthorized || key.IsZero() {
		return response, key, err
	}
	next, err := c.keyNow(ctx, key)
	if err != nil || next.Equal(key) {
		return response, key, nil // what the server said says more
	}
	_ = response.Body.Close()
	response, err = c.post(ctx, post, next, patience)
	return response, next, err
}

// keyNow asks the source. Its failure is as one of the provider: it may pass, or the
// request is made without a key that there should be.
func (c *Client) keyNow(ctx context.Context, refused secret.String) (secret.String, error) {
	key, err := c.Key(ctx, refused)
	switch {
	case err == nil && carried(key.Reveal()):
		return key, nil
	case err == nil:
		return key, &model.Error{Kind: model.KindUnauthorized, Message: c.Name + ": the API key has a space, a line end or another character that a header cannot carry"}
	case ctx.Err() != nil:
		return key, err
	case core.CodeOf(err) == core.CodeUnavailable:
		return key, &model.Error{Kind: model.KindProvider, Message: c.Name + ": the API key: " + err.Error()}
	}
	return key, &model.Error{Kind: model.KindUnauthorized, Message: c.Name + ": the API key: " + err.Error()}
}

// post sends the request and returns the response with any status.
func (c *Client) post(ctx context.Context, post Post, key secret.String, patience *patience) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, post.URL, bytes.NewReader(post.Body))
	if err != nil {
		return nil, fmt.Errorf("%s: make the request: %w", c.Name, err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if post.Header != nil {
		post.Header(r.Header, key)
	}
	patience.begin()
	response, err := c.HTTP.Do(r)
	patience.stop()
	if err != nil {
		return nil, unreachable(err).named(c.Name, key)
	}
	return response, nil
}

// check returns the error of a response that is not an event stream.
func (c *Client) check(response *http.Response, body io.Reader, key secret.String) error {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	ok := response.StatusCode == http.StatusOK
	// Some servers name no type, or a wrong one, for a stream: refuse only what
	// cannot be one.
	if ok && media != "application/json" && media != "text/html" {
		return nil
	}
	if text := egress.Redirect(response); text != "" {
		return Failure{Kind: model.KindInvalid, Status: response.StatusCode, Message: text + " as the provider's base URL"}.named(c.Name, key)
	}
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came is enough for a message
	status := response.StatusCode
	if ok {
		status = 0 // the body may name one
	}
	f, found := c.Parse(status, text)
	f.Status = cmp.Or(status, f.Status)
	if ok && !found {
		f = Failure{Kind: model.KindInvalid, Message: "responded with " + media + " where a stream was asked for"}
	}
	f.RequestID = cmp.Or(f.RequestID, requestID(response.Header))
	f.RetryAfter = cmp.Or(f.RetryAfter, RetryAfter(response.Header, time.Now()))
	return f.named(c.Name, key)
}
