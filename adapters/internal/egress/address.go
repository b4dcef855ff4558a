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

// forbidden are blocks that no list allows: link-local addresses, among them the metadata
// of instances (169.254.169.254) and the credentials of containers (169.254.170.2), the
// same services of AWS over IPv6 (fd00:ec2::254, fd00:ec2::23), this network, multicast
// and broadcast.
var forbidden = prefixes("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "::/128", "fe80::/10", "fd00:ec2::/32", "ff00::/8")

var (
	// global is what IANA has given out of IPv6 for the public internet.
	global = netip.MustParsePrefix("2000::/3")
	// translated is IPv4 as a network without it reaches it; the last four bytes are the
	// address that is connected to.
	translated = netip.MustParsePrefix("64:ff9b::/96")
	// ending are further blocks whose last four bytes may be the IPv4 address that a
	// gateway connects to; in sixToFour bytes two to five are.
	ending    = prefixes("64:ff9b:1::/48", "::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// contained reports whether one of the networks has the address.
func contained(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// target is the address that a connection goes to: the IPv4 address of a mapped or
// translated one.
func target(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if translated.Contains(ip) {
		return four(ip, 12)
	}
	return ip
}

// four is the IPv4 address in an IPv6 address, from a byte on.
func four(ip netip.Addr, from int) netip.Addr {
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[from : from+4]))
}

// Public reports whether an address is on the public internet.
func Public(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = target(ip)
	if ip.Is6() && !global.Contains(ip) {
		return false
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !contained(special, ip)
}

// never reports whether an address is one that no list allows, or carries one.
func never(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return true
	}
	ip = target(ip)
	switch {
	case contained(forbidden, ip):
		return true
	case ip.Is6() && sixToFour.Contains(ip):
		return contained(forbidden, four(ip, 2))
	case ip.Is6() && contained(ending, ip) && !ip.IsLoopback():
		return contained(forbidden, four(ip, 12))
	}
	return false
}
