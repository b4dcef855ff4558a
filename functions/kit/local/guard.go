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

// guard protects a host without authentication from the pages of other sites: any page in a
// browser on this machine can send requests to its address.
//
//   - A page whose name resolves to this machine (DNS rebinding) has the same origin as the
//     host for its browser, and could read everything. The header Host has its name, so only
//     known names are accepted.
//   - A page of another site can send requests whose responses it may not read. A request
//     that changes something must therefore come from the host's own pages, from configured
//     origins, or from a program, which sends no header of a site.
//   - A browser that sends neither header is old. Without a preflight, its pages can send
//     only forms, which every endpoint refuses ([httpapi.RefuseForm]).
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
			"host "+strconv.Quote(core.Excerpt(r.Host))+" is not a name of this machine; set REVEILLE_HOSTS to add names")
		return
	}
	if !safe(r.Method) {
		if !g.own(r) {
			httpapi.Refuse(w, http.StatusForbidden, core.CodeForbidden,
				"the request comes from a page of another site; set REVEILLE_ORIGINS to allow its origin")
			return
		}
		if httpapi.RefuseForm(w, r) {
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// safe reports whether a method changes nothing. OPTIONS is among them, since preflights
// come from any page.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// own reports whether a request comes from a page that may change something, or from a
// program. r.Host is one of the known names.
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

// hostOf returns the name or address of host:port or host in lower case, without a final
// dot; an IPv6 address is in brackets. It returns "" if there is no name.
func hostOf(address string) string {
	name := address
	if localHost, _, err := net.SplitHostPort(address); err == nil {
		if name = localHost; strings.Contains(localHost, ":") {
			name = "[" + localHost + "]"
		}
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}
