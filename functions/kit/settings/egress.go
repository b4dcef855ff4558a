package settings

import (
	"net/netip"
	"strings"
)

// egressVariables are the rules for outgoing requests. The clients of models, webhooks and
// the issuer's keys read them from the environment of the process; here they are checked.
func egressVariables() []variable {
	return []variable{
		{
			Variable{
				Name: "REVEILLE_EGRESS_ALLOW", Unset: "public hosts only",
				Allowed: "host names, addresses or networks such as 10.0.0.0/8, separated by commas; no link-local ones",
				Meaning: "The hosts and networks outside the public internet that outgoing requests may reach. They may also use http.",
			},
			reachable,
		},
		{
			Variable{
				Name: "REVEILLE_EGRESS_PROXY", Default: "off", Allowed: "on, off",
				Meaning: "The switch for the proxy in `HTTPS_PROXY`, which requests to providers of models then use: `on` or `off`. Functions on AWS refuse `on`.",
			},
			func(s *Settings, v string) error {
				if s.Proxy = v == "on"; v != "on" && v != "off" {
					return errForm
				}
				return nil
			},
		},
	}
}

// reachable checks the entries of the list as the clients do, so that a mistake is found at
// start by functions that send no requests, too.
func reachable(_ *Settings, v string) error {
	for entry := range strings.SplitSeq(v, ",") {
		if entry = strings.ToLower(strings.TrimSpace(entry)); entry != "" && !isReachable(entry) {
			return errForm
		}
	}
	return nil
}

// isReachable reports whether v is a name, or an address or network that can be allowed.
func isReachable(v string) bool {
	network, err := netip.ParsePrefix(v)
	if ip, failed := netip.ParseAddr(v); failed == nil {
		network, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		if ip.Zone() != "" {
			return false
		}
	}
	if err != nil {
		v = strings.TrimSuffix(v, ".")
		last := v[strings.LastIndexByte(v, '.')+1:]
		return isDomain(v) && !isOf(last, digits) && !(strings.HasPrefix(last, "0x") && strings.Trim(last[2:], digits+"abcdef") == "")
	}
	// What is link-local, multicast or of a metadata service of AWS.
	for _, never := range [...]string{"0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "::/128", "fe80::/10", "fd00:ec2::/32", "ff00::/8"} {
		if p := netip.MustParsePrefix(never); p.Bits() <= network.Bits() && p.Contains(network.Addr()) {
			return false
		}
	}
	return true
}
