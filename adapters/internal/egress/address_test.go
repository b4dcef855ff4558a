package egress_test

import (
	"net/netip"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/egress"
)

func TestPublicAddresses(t *testing.T) {
	public := []string{
		"1.1.1.1", "8.8.8.8", "52.94.236.248", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "169.253.255.255", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	}
	closed := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "127.0.0.1", "127.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1",
		"169.254.169.254", "169.254.170.2", "169.254.169.123", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "ff02::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::10.0.0.1",
		"2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1", "100::1", "4000::1",
	}
	for _, text := range public {
		if !egress.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	for _, text := range closed {
		if egress.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	if egress.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// FuzzPublic holds the check against what the standard library says of an address, and
// of the IPv4 address that an IPv6 one carries.
func FuzzPublic(f *testing.F) {
	for _, text := range []string{"127.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2606:4700::1111", "8.8.8.8"} {
		f.Add(netip.MustParseAddr(text).AsSlice())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		public := egress.Public(ip)
		carried := []netip.Addr{ip, ip.Unmap()}
		if ip.Is6() {
			b := ip.As16()
			if ip.Is4In6() && public != egress.Public(ip.Unmap()) {
				t.Errorf("%s and %s differ", ip, ip.Unmap())
			}
			if b[0] == 0 && b[1] == 0x64 || b[0] == 0x20 && b[1] == 0x02 || b[0] == 0 && b[1] == 0 {
				carried = append(carried, netip.AddrFrom4([4]byte(b[12:])))
			}
		}
		if !public {
			return
		}
		for _, a := range carried {
			if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsInterfaceLocalMulticast() || a.IsMulticast() || a.IsUnspecified() {
				t.Errorf("%s is public, and is or carries %s", ip, a)
			}
		}
	})
}
