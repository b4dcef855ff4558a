package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Transport sends requests by rules. It implements http.RoundTripper, is safe for
// concurrent use and keeps connections. Like any transport, it returns a redirect as a
// response.
type Transport struct {
	rules Rules
	base  *http.Transport
}

// Transport returns a transport by the rules. It has the limits of http.DefaultTransport
// for a connection, and none for a response.
func (r Rules) Transport() *Transport {
	t := &Transport{rules: r}
	t.base = &http.Transport{
		DialContext: t.rules.dialer(30 * time.Second), ForceAttemptHTTP2: true,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	if r.proxied != nil {
		t.base.Proxy = r.proxyFor
	}
	return t
}

// RoundTrip implements http.RoundTripper. The error of a refused request wraps
// [ErrRefused].
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := t.rules.Check(request.URL); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	return t.base.RoundTrip(request)
}

// HTTPClient returns a client that sends by the rules, follows no redirects and has no
// limit of time.
func (r Rules) HTTPClient() *http.Client {
	return &http.Client{Transport: r.Transport(), CheckRedirect: unfollowed}
}

// unfollowed makes a client return a redirect as a response.
func unfollowed(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Redirect returns a sentence about a response that is a redirect, with the host that it
// leads to, and an empty text for any other response. It has neither path nor query of the
// target, which may hold a secret.
func Redirect(response *http.Response) string {
	location := response.Header.Get("Location")
	if response.StatusCode < 300 || response.StatusCode > 399 || location == "" {
		return ""
	}
	to := "another path of the same host"
	switch u, err := url.Parse(location); {
	case err != nil:
		to = "an address that is not a URL"
	case u.Host != "":
		to = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	return fmt.Sprintf("the server redirects to %s, and redirects are not followed: configure the final address", to)
}

// dialer returns a function that connects to a host by the first of its addresses that is
// allowed. The check is made on the address that the connection goes to, by the dialer
// itself.
func (r Rules) dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		check := func(_, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			switch {
			case err != nil:
				return refused("address %q cannot be checked", to)
			case address == r.proxy && !never(at.Addr()):
				return nil
			}
			return r.reachable(host, at)
		}
		dialer := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Resolver: r.o.Resolver, Control: check}
		return dialer.DialContext(ctx, network, address)
	}
}
