package egress

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The environment variables of an operator.
const (
	AllowVariable = "REVEILLE_EGRESS_ALLOW"
	ProxyVariable = "REVEILLE_EGRESS_PROXY"
)

// runtimeVariable is set by Lambda: the address of its Runtime API, on this machine.
const runtimeVariable = "AWS_LAMBDA_RUNTIME_API"

// ErrRefused is returned for a request to an address that is not allowed.
var ErrRefused = core.Errorf(core.CodeDenied, "outgoing request refused")

// Options configures [Read]. The zero value allows every public host, by https.
type Options struct {
	// Hosts are the only allowed host names, in lower case and without port. Default:
	// every host.
	Hosts []string
	// Loopback also allows requests to this machine, by http or https, if they name it as
	// localhost or by its address: for a host that runs here. A name that merely resolves
	// to this machine is still refused.
	Loopback bool
	// Local is Loopback outside Lambda, where programs with private addresses may also
	// use the proxy of [ProxyVariable].
	Local bool
	// Domains are domains whose hosts may have private addresses, such as
	// "amazonaws.com" with its endpoints in a VPC.
	Domains  []string
	Resolver *net.Resolver       // of names; nil: the system's
	Getenv   func(string) string // nil: os.Getenv
}

// Rules decide which addresses may be reached. [Read] makes them.
type Rules struct {
	o        Options
	names    []string       // of [AllowVariable], in lower case
	networks []netip.Prefix // the same
	runtime  netip.AddrPort // never reached; invalid: not on Lambda
	proxy    string         // host and port that connections go to in place of the target's; empty: none
	proxied  func(*http.Request) (*url.URL, error)
}

// Read reads the operator's variables. An error names the variable, the wrong entry and
// what is allowed.
func Read(o Options) (Rules, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	r := Rules{o: o}
	for entry := range strings.SplitSeq(o.Getenv(AllowVariable), ",") {
		if err := r.allow(strings.ToLower(strings.TrimSpace(entry))); err != nil {
			return Rules{}, err
		}
	}
	address := o.Getenv(runtimeVariable)
	r.runtime, _ = netip.ParseAddrPort(address)
	if o.Local && address == "" {
		r.o.Loopback = true
		return r, r.readProxy(o.Getenv(ProxyVariable))
	}
	return r, nil
}

// allow adds an entry of the list.
func (r *Rules) allow(entry string) error {
	if entry == "" {
		return nil
	}
	network, err := netip.ParsePrefix(entry)
	if ip, failed := netip.ParseAddr(entry); failed == nil && ip.Zone() == "" {
		ip = ip.Unmap()
		network, err = netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	switch {
	case err == nil && slices.ContainsFunc(forbidden, func(p netip.Prefix) bool { return p.Bits() <= network.Bits() && p.Contains(network.Addr()) }):
		return core.Errorf(core.CodeInvalid, "environment variable %s: entry %q is link-local, multicast or of a metadata service, which is never allowed: remove it", AllowVariable, core.Excerpt(entry))
	case err == nil:
		r.networks = append(r.networks, network.Masked())
	case isName(entry):
		r.names = append(r.names, strings.TrimSuffix(entry, "."))
	default:
		return core.Errorf(core.CodeInvalid, "environment variable %s: entry %q is not allowed, want a host name, an address, or a network such as 10.0.0.0/8, without scheme and port", AllowVariable, core.Excerpt(entry))
	}
	return nil
}

// readProxy finds the proxy of the environment if the operator uses it.
func (r *Rules) readProxy(value string) error {
	switch value {
	case "", "off":
		return nil
	case "on":
	default:
		return core.Errorf(core.CodeInvalid, "environment variable %s is %q, allowed: on, off", ProxyVariable, core.Excerpt(value))
	}
	u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: "reveille.invalid"}})
	if err != nil {
		return core.Errorf(core.CodeInvalid, "environment variable HTTPS_PROXY is not an address of a proxy") // not quoted: it may have a password
	}
	if u == nil {
		return core.Errorf(core.CodeInvalid, "environment variable %s is on, but HTTPS_PROXY names no proxy: set it, or unset %s", ProxyVariable, ProxyVariable)
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "socks5": "1080", "socks5h": "1080"}[u.Scheme], "443")
	r.proxy, r.proxied = net.JoinHostPort(u.Hostname(), port), http.ProxyFromEnvironment
	return nil
}

// proxyFor returns the proxy of a request: none for what is not https, and none for hosts
// that are reached in the own network.
func (r Rules) proxyFor(request *http.Request) (*url.URL, error) {
	host := hostOf(request.URL)
	if r.proxied == nil || request.URL.Scheme != "https" || loopback(host) || r.listed(host) {
		return nil, nil
	}
	return r.proxied(request)
}

// Check returns an error, which wraps [ErrRefused], if the URL alone shows that requests
// to it would be refused. Call it at start to report a wrong setting. The error names
// the setting to change.
func (r Rules) Check(u *url.URL) error {
	host := hostOf(u)
	here := r.o.Loopback && loopback(host)
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return refused("the URL names no host")
	case u.User != nil:
		return refused("the URL has a user")
	case err == nil && never(ip):
		return refused("address %s is link-local, multicast or of a metadata service, which is never allowed", ip)
	case err != nil && !isName(host):
		return refused("host %q is not a name or an address, want letters, digits and hyphens, or an address such as 192.0.2.1", core.Excerpt(host))
	case len(r.o.Hosts) > 0 && !slices.Contains(r.o.Hosts, host):
		return refused("host %s is not an allowed host", host)
	case here || r.listed(host):
		if u.Scheme != "http" && u.Scheme != "https" {
			return refused("scheme %q, allowed are http and https", u.Scheme)
		}
		return nil
	case u.Scheme == "http":
		return refused("the scheme of host %s is http, allowed is https: for a host in your own network, list %s in %s", host, host, AllowVariable)
	case u.Scheme != "https":
		return refused("scheme %q, allowed is https", u.Scheme)
	case err == nil && !Public(ip), loopback(host):
		return refused("host %s is not public: to allow it, list it in %s", host, AllowVariable)
	}
	return nil
}

// reachable returns nil if a host may be reached at an address.
func (r Rules) reachable(host string, at netip.AddrPort) error {
	ip := at.Addr().Unmap()
	switch {
	case never(ip):
		return refused("%s leads to %s, which is link-local, multicast or of a metadata service, and never allowed", host, ip)
	case r.runtime.IsValid() && target(ip) == r.runtime.Addr().Unmap() && at.Port() == r.runtime.Port():
		return refused("%s leads to the runtime API of Lambda, which is never allowed", host)
	case r.o.Loopback && loopback(host):
		if ip.IsLoopback() {
			return nil
		}
	case Public(ip), r.listed(host), contained(r.networks, target(ip)), r.inDomain(host):
		return nil
	}
	return refused("%s leads to %s, which is not public: to allow it, list %s in %s", host, ip, host, AllowVariable)
}

// listed reports whether the operator's list has a host by the text of a URL: its name, or
// a network with its address.
func (r Rules) listed(host string) bool {
	ip, err := netip.ParseAddr(host)
	return slices.Contains(r.names, host) || err == nil && contained(r.networks, target(ip))
}

// inDomain reports whether a host belongs to one of the domains of the options.
func (r Rules) inDomain(host string) bool {
	return slices.ContainsFunc(r.o.Domains, func(domain string) bool { return strings.HasSuffix(host, "."+domain) })
}

// hostOf is the host of a URL, in lower case and without the final dot of a DNS name.
func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// loopback reports whether a host is this machine by its very name.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isName reports whether a host can be a DNS name. One whose last label is a number is
// not: some resolvers take 127.1, 2130706433 and 0x7f000001 for addresses.
func isName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "-") != label || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := host[strings.LastIndex(host, ".")+1:]
	hex, isHex := strings.CutPrefix(last, "0x")
	number := strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
	return !number
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}
