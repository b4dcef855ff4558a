package egress

import (
	"net/netip"
	"slices"
)

// special are blocks that no server of the public internet is in, though their addresses
// are unicast and not private: this network, shared by carriers, of protocols, for
// documentation and benchmarks, reserved.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	// global is what IANA has given out of IPv6 for the public internet.
	global = netip.MustParsePrefix("2000::/3")
	// translated is IPv4 as a network without it reaches it; the last four bytes are the
	// address that is connected to.
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// Public reports whether an address is on the public internet.
func Public(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if translated.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	if ip.Is6() && !global.Contains(ip) {
		return false
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}
