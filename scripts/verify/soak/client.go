package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// requestTime bounds a request that is not a stream.
const requestTime = 15 * time.Second

// client sends HTTP requests to the host. Each request has a separate connection, so that
// none is lost with another's.
type client struct {
	http http.Client
	host *host

	requests atomic.Int64
	lost     atomic.Int64 // responses that never came
	errors   atomic.Int64 // responses 5xx
}

func newClient(h *host) *client {
	return &client{host: h, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// request has the bytes to send, the same at every attempt.
type request struct {
	method, path, body string
	key                string // Idempotency-Key
	last               string // Last-Event-ID
}

func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	c.requests.Add(1)
	out, err := http.NewRequestWithContext(ctx, r.method, c.host.url()+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.method != http.MethodGet {
		out.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		out.Header.Set("Idempotency-Key", r.key)
	}
	if r.last != "" {
		out.Header.Set("Last-Event-ID", r.last)
	}
	response, err := c.http.Do(out)
	if err != nil {
		c.lost.Add(1)
	}
	return response, err
}

// reply is a whole response.
type reply struct {
	status int
	body   []byte
}

// code is the stable name of a refusal.
func (a reply) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(a.body, &p) // a body that is not JSON has no code
	return p.Code
}

// passing reports a response that says to try again.
func (a reply) passing() bool {
	return a.status >= 500 || a.status == http.StatusTooManyRequests && a.code() == "throttled"
}

func (a reply) String() string {
	return fmt.Sprintf("%d %s", a.status, strings.TrimSpace(string(a.body[:min(len(a.body), 300)])))
}

// try sends a request once.
func (c *client) try(ctx context.Context, r request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	response, err := c.send(ctx, r)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.lost.Add(1)
		return reply{}, err
	}
	if response.StatusCode >= 500 {
		c.errors.Add(1)
	}
	return reply{response.StatusCode, body}, nil
}

// ask sends a request until it has a definite response.
func (c *client) ask(ctx context.Context, r request) (reply, error) {
	for {
		a, err := c.try(ctx, r)
		if err == nil && !a.passing() {
			return a, nil
		}
		if err := pause(ctx, retryPause); err != nil {
			return a, err
		}
	}
}

// retryPause is how long a client waits before it repeats a request.
const retryPause = 80 * time.Millisecond

// stream is an open stream, or the refusal that came instead.
type stream struct {
	reply
	frames *bufio.Reader // nil: a refusal, or nothing to show
	close  func()
}

// open starts a stream, which ends when the clients of the host's life leave.
func (c *client) open(ctx context.Context, r request) (*stream, error) {
	ctx, cancel := c.host.streams(ctx)
	response, err := c.send(ctx, r)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &stream{reply: reply{status: response.StatusCode}, close: func() { cancel(); _ = response.Body.Close() }}
	if response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		s.frames = bufio.NewReader(response.Body)
		return s, nil
	}
	defer s.close()
	if s.body, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	if s.status >= 500 {
		c.errors.Add(1)
	}
	return s, nil
}
