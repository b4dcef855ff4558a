package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/core"
)

// ErrRefused is returned for a request to an address that is not allowed.
var ErrRefused = core.Errorf(core.CodeDenied, "outgoing request refused")

// ErrTooLarge is returned when a response has more bytes than [Options.MaxBody].
var ErrTooLarge = core.Errorf(core.CodeTooLarge, "response is too large")

// Options configures a [Client]. The zero value allows every public host.
type Options struct {
	// Hosts are the only allowed host names, in lower case and without port. Default:
	// every host.
	Hosts []string
	// Loopback also allows requests to this machine, by http or https, if they name it as
	// localhost or by its address: for a host that runs here. A name that merely resolves
	// to this machine is still refused.
	Loopback bool
	Timeout  time.Duration // of a request, with the response's body; 0: 10 s
	MaxBody  int64         // bytes of a response's body; 0: 1 MB
	Resolver *net.Resolver // of names; nil: the system's
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	o    Options
	http http.Client
}

// New returns a client.
func New(o Options) *Client {
	o.Timeout, o.MaxBody = cmp.Or(o.Timeout, 10*time.Second), cmp.Or(o.MaxBody, 1<<20)
	c := &Client{o: o}
	c.http = http.Client{
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: c.dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: o.Timeout,
			MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			// No Proxy: it would connect to any address on our behalf.
		},
	}
	return c
}

// Check returns an error, which wraps [ErrRefused], if the URL alone shows that requests
// to it would be refused. Call it at start to report a wrong setting.
func (c *Client) Check(u *url.URL) error {
	host := strings.ToLower(u.Hostname())
	here := c.o.Loopback && loopback(host)
	switch {
	case host == "":
		return refused("the URL names no host")
	case u.User != nil:
		return refused("the URL has a user")
	case u.Scheme != "https" && !(here && u.Scheme == "http"):
		return refused("scheme %q, allowed is https", u.Scheme)
	case len(c.o.Hosts) > 0 && !slices.Contains(c.o.Hosts, host):
		return refused("host %s is not an allowed host", host)
	}
	if ip, err := netip.ParseAddr(host); err == nil && !c.allowed(host, ip) {
		return refused("address %s is not public", ip)
	}
	return nil
}

// Do sends a request. If the response's body exceeds its limit, reading it returns
// [ErrTooLarge]. The caller must close the body. A redirect is returned like any other
// response.
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	if err := c.Check(request.URL); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", request.URL.Host, withoutURL(err))
	}
	response.Body = &limited{response.Body, c.o.MaxBody}
	return response, nil
}

// withoutURL is an error without the address, whose path and query may hold a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// dial connects to a host by the first of its addresses that is allowed. The check is
// made on the address that the connection goes to, by the dialer itself.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	check := func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return refused("address %q cannot be checked", to)
		}
		if !c.allowed(host, at.Addr()) {
			return refused("%s leads to %s, which is not public", host, at.Addr())
		}
		return nil
	}
	dialer := net.Dialer{Timeout: c.o.Timeout, Resolver: c.o.Resolver, Control: check}
	return dialer.DialContext(ctx, network, address)
}

// allowed reports whether a host may be reached at an address.
func (c *Client) allowed(host string, ip netip.Addr) bool {
	if c.o.Loopback && loopback(host) {
		return ip.Unmap().IsLoopback()
	}
	return Public(ip)
}

// loopback reports whether a host is this machine by its very name.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
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
