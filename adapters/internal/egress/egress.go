package egress

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/reveille-run/reveille/core"
)

// ErrTooLarge is returned when a response has more bytes than [Limits.MaxBody].
var ErrTooLarge = core.Errorf(core.CodeTooLarge, "response is too large")

// Limits are those of a [Client].
type Limits struct {
	Timeout time.Duration // of a request, with the response's body; 0: 10 s
	MaxBody int64         // bytes of a response's body; 0: 1 MB
}

// Client sends requests by rules, within limits. It is safe for concurrent use.
type Client struct {
	rules  Rules
	limits Limits
	http   http.Client
}

// Client returns a client by the rules. It uses no proxy.
func (r Rules) Client(l Limits) *Client {
	l.Timeout, l.MaxBody = cmp.Or(l.Timeout, 10*time.Second), cmp.Or(l.MaxBody, 1<<20)
	return &Client{rules: r, limits: l, http: http.Client{
		Timeout: l.Timeout, CheckRedirect: unfollowed,
		Transport: &http.Transport{
			DialContext: r.dialer(l.Timeout), ForceAttemptHTTP2: true, TLSHandshakeTimeout: l.Timeout,
			MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			// No Proxy: it would connect to any address on our behalf.
		},
	}}
}

// Do sends a request. If the response's body exceeds its limit, reading it returns
// [ErrTooLarge]. The caller must close the body. A redirect is returned like any other
// response.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	if err := c.rules.Check(request.URL); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", request.URL.Host, withoutURL(err))
	}
	response.Body = &limited{response.Body, c.limits.MaxBody}
	return response, nil
}

// withoutURL is an error without the address, whose path and query may hold a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// limited is a body that ends with an error at its limit.
type limited struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return max(0, n-1), ErrTooLarge
	}
	return n, err
}
