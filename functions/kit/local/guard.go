package local

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// guard keeps the pages of other sites away from a host that authenticates
// nobody: whatever runs in a browser on this machine reaches its address.
//
//   - A page whose name resolves to this machine (DNS rebinding) is of the same
//     origin as the host for its browser, and could read everything. Its name
//     stands in Host, so only known names pass.
//   - A page of another site can send requests whose responses it may not read. What
//     changes something must therefore come from the host's own pages, from
//     configured origins, or from a program, which says nothing of a site.
//   - A browser that sends neither header is old. All that one of its pages can send here
//     without a preflight is a form, which is refused on every endpoint ([httpapi.RefuseForm]).
type guard struct {
	hosts   []string // in lower case, IPv6 addresses in brackets
	origins []string
	next    http.Handler
}

// thisMachine are the names that every host has.
var thisMachine = []string{"localhost", "127.0.0.1", "[::1]"}

func newGuard(s settings.Settings, next http.Handler) http.Handler {
	g := &guard{hosts: slices.Concat(thisMachine, s.Hosts), origins: s.Origins, next: next}
	name := hostOf(s.Addr)
	if ip, err := netip.ParseAddr(strings.Trim(name, "[]")); name != "" && (err != nil || !ip.IsUnspecified()) {
		g.hosts = append(g.hosts, name)
	}
	return g
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(g.hosts, hostOf(r.Host)) {
		httpapi.Refuse(w, http.StatusMisdirectedRequest, core.CodeForbidden,
			"host "+strconv.Quote(core.Excerpt(r.Host))+" is no name of this machine; REVEILLE_HOSTS names further ones")
		return
	}
	if !safe(r.Method) {
		if !g.own(r) {
			httpapi.Refuse(w, http.StatusForbidden, core.CodeForbidden,
				"the request comes from a page of another site; REVEILLE_ORIGINS names those that may send")
			return
		}
		if httpapi.RefuseForm(w, r) {
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// safe methods change nothing. OPTIONS must pass, since preflights come from
// everywhere.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// own reports whether a request comes from a page that may change something, or
// from no page. r.Host is one of the known names.
func (g *guard) own(r *http.Request) bool {
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	if len(site) == 0 && len(origin) == 0 {
		return true
	}
	if len(site) == 1 && (site[0] == "same-origin" || site[0] == "none") {
		return true
	}
	if len(origin) != 1 {
		return false
	}
	return origin[0] == "http://"+r.Host || origin[0] == "https://"+r.Host || slices.Contains(g.origins, origin[0])
}

// hostOf returns the name or address of host:port or host in lower case, without
// a final dot, an IPv6 address in brackets; "" where there is none.
func hostOf(address string) string {
	name := address
	if localHost, _, err := net.SplitHostPort(address); err == nil {
		if name = localHost; strings.Contains(localHost, ":") {
			name = "[" + localHost + "]"
		}
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}
