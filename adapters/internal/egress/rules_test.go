package egress_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core"
)

// variables is an environment.
func variables(pairs ...string) func(string) string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return all[name] }
}

func allow(list string) egress.Options {
	return egress.Options{Getenv: variables(egress.AllowVariable, list)}
}

const remedy = ": to allow it, list it in REVEILLE_EGRESS_ALLOW"

func TestRefusedByWhatTheURLSays(t *testing.T) {
	local := egress.Options{Local: true, Getenv: variables()}
	inLambda := egress.Options{Local: true, Getenv: variables("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")}
	plain := func(host string) string {
		return "the scheme of host " + host + " is http, allowed is https: for a host in your own network, list " + host + " in REVEILLE_EGRESS_ALLOW"
	}
	never := func(ip string) string {
		return "address " + ip + " is link-local, multicast or of a metadata service, which is never allowed"
	}
	form := func(host string) string {
		return `host "` + host + `" is not a name or an address, want letters, digits and hyphens, or an address such as 192.0.2.1`
	}
	private := func(host string) string { return "host " + host + " is not public" + remedy }
	tests := []struct {
		name    string
		options egress.Options
		url     string
		want    string // "": it is allowed
	}{
		{"public", egress.Options{}, "https://hooks.example/x?y", ""},
		{"public address", egress.Options{}, "https://8.8.8.8/", ""},
		{"a final dot", egress.Options{}, "https://hooks.example./", ""},
		{"plain", egress.Options{}, "http://hooks.example/", plain("hooks.example")},
		{"plain, with a final dot", egress.Options{}, "http://10.0.0.5.:8000", plain("10.0.0.5")},
		{"file", egress.Options{}, "file:///etc/passwd", "the URL names no host"},
		{"gopher", egress.Options{}, "gopher://hooks.example/", `scheme "gopher", allowed is https`},
		{"user", egress.Options{}, "https://a:b@hooks.example/", "the URL has a user"},
		{"user that looks like a host", egress.Options{}, "https://hooks.example@10.0.0.1/", "the URL has a user"},
		{"no host", egress.Options{}, "https:///x", "the URL names no host"},
		{"only a dot", egress.Options{}, "https://./x", "the URL names no host"},
		{"loopback", egress.Options{}, "https://127.0.0.1/", private("127.0.0.1")},
		{"loopback by name", egress.Options{}, "https://LOCALHOST./", private("localhost")},
		{"loopback of IPv6", egress.Options{}, "https://[::1]/", private("::1")},
		{"private", egress.Options{}, "https://10.0.0.5:8000/v1", private("10.0.0.5")},
		{"private, mapped", egress.Options{}, "https://[::ffff:10.0.0.5]/", private("::ffff:10.0.0.5")},
		{"private, translated", egress.Options{}, "https://[64:ff9b::10.0.0.5]/", private("64:ff9b::10.0.0.5")},
		{"private by 6to4", egress.Options{}, "https://[2002:a00:5::]/", private("2002:a00:5::")},
		{"unique local", egress.Options{}, "https://[fd12::1]/", private("fd12::1")},
		{"shared by carriers", egress.Options{}, "https://100.64.0.1/", private("100.64.0.1")},
		{"metadata", egress.Options{}, "https://169.254.169.254/latest", never("169.254.169.254")},
		{"metadata, with a final dot", egress.Options{}, "https://169.254.169.254./latest", never("169.254.169.254")},
		{"metadata, mapped", egress.Options{}, "https://[::ffff:169.254.169.254]/", never("::ffff:169.254.169.254")},
		{"metadata, translated", egress.Options{}, "https://[64:ff9b::169.254.169.254]/", never("64:ff9b::a9fe:a9fe")},
		{"metadata, translated by a network's own prefix", egress.Options{}, "https://[64:ff9b:1::169.254.169.254]/", never("64:ff9b:1::a9fe:a9fe")},
		{"metadata, compatible", egress.Options{}, "https://[::169.254.169.254]/", never("::a9fe:a9fe")},
		{"metadata by 6to4", egress.Options{}, "https://[2002:a9fe:a9fe::1]/", never("2002:a9fe:a9fe::1")},
		{"metadata of IPv6", egress.Options{}, "https://[fd00:ec2::254]/", never("fd00:ec2::254")},
		{"credentials of containers", egress.Options{}, "https://169.254.170.2/", never("169.254.170.2")},
		{"link-local of IPv6", egress.Options{}, "https://[fe80::1]/", never("fe80::1")},
		{"a zone", egress.Options{}, "https://[fe80::1%25eth0]/", never("fe80::1%eth0")},
		{"a zone of a public address", egress.Options{}, "https://[2606:4700::1%25eth0]/", never("2606:4700::1%eth0")},
		{"no address", egress.Options{}, "https://0.0.0.0/", never("0.0.0.0")},
		{"multicast", egress.Options{}, "https://224.0.0.1/", never("224.0.0.1")},
		{"broadcast", egress.Options{}, "https://255.255.255.255/", never("255.255.255.255")},
		{"decimal", egress.Options{}, "https://2130706433/", form("2130706433")},
		{"hexadecimal", egress.Options{}, "https://0x7f000001/", form("0x7f000001")},
		{"hexadecimal, in parts", egress.Options{}, "https://0x7f.1/", form("0x7f.1")},
		{"a part in hexadecimal at the end", egress.Options{}, "https://127.0.0.0x1/", form("127.0.0.0x1")},
		{"octal", egress.Options{}, "https://0177.0.0.1/", form("0177.0.0.1")},
		{"short", egress.Options{}, "https://127.1/", form("127.1")},
		{"other digits", egress.Options{}, "https://１２７.0.0.1/", form("１２７.0.0.1")},
		{"other dots", egress.Options{}, "https://127。0。0。1/", form("127。0。0。1")},
		{"listed host", egress.Options{Hosts: []string{"hooks.example"}}, "https://HOOKS.example:8443/", ""},
		{"host that is not listed", egress.Options{Hosts: []string{"hooks.example"}}, "https://a.hooks.example/", "host a.hooks.example is not an allowed host"},
		{"this machine", local, "http://localhost:3000/", ""},
		{"this machine by address", local, "http://[::1]:3000/", ""},
		{"this machine for a webhook", egress.Options{Loopback: true}, "http://127.0.0.1:3000/", ""},
		{"this machine, by another scheme", local, "ftp://localhost/", `scheme "ftp", allowed are http and https`},
		{"this machine in Lambda", inLambda, "http://127.0.0.1:9001/", plain("127.0.0.1")},
		{"this machine in Lambda by https", inLambda, "https://localhost/", private("localhost")},
		{"plain, elsewhere", local, "http://hooks.example/", plain("hooks.example")},
		{"private beside this machine", local, "https://10.0.0.1/", private("10.0.0.1")},
		{"allowed address", allow("10.0.0.5"), "http://10.0.0.5:8000", ""},
		{"beside an allowed address", allow("10.0.0.5"), "http://10.0.0.6:8000", plain("10.0.0.6")},
		{"allowed network", allow("10.1.2.3/8"), "https://10.255.0.1", ""},
		{"allowed network, mapped", allow("10.0.0.0/8"), "http://[::ffff:10.255.0.1]", ""},
		{"allowed network of IPv6", allow("fd12::/32"), "http://[fd12::9]:80", ""},
		{"allowed name", allow(" Model.Internal. , other"), "http://model.INTERNAL:8000/v1", ""},
		{"below an allowed name", allow("model.internal"), "http://a.model.internal/", plain("a.model.internal")},
		{"a name in an allowed network", allow("10.0.0.0/8"), "http://model.internal/", plain("model.internal")},
		{"metadata in an allowed network", allow("0.0.0.0/0,::/0"), "http://169.254.169.254/", never("169.254.169.254")},
		{"metadata in an allowed network by 6to4", allow("::/0"), "http://[2002:a9fe:a9fe::1]/", never("2002:a9fe:a9fe::1")},
		{"an allowed name, by another scheme", allow("model.internal"), "ftp://model.internal/", `scheme "ftp", allowed are http and https`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			err = rules(t, tt.options).Check(u)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (!errors.Is(err, egress.ErrRefused) || err.Error() != "outgoing request refused: "+tt.want):
				t.Errorf("error %v\nwant  outgoing request refused: %s", err, tt.want)
			}
		})
	}
}

func TestWhatTheOperatorWritesIsChecked(t *testing.T) {
	const of = "environment variable REVEILLE_EGRESS_ALLOW: "
	const form = " is not allowed, want a host name, an address, or a network such as 10.0.0.0/8, without scheme and port"
	const never = " is link-local, multicast or of a metadata service, which is never allowed: remove it"
	proxy := func(value string) egress.Options {
		return egress.Options{Local: true, Getenv: variables(egress.ProxyVariable, value)}
	}
	tests := []struct {
		name    string
		options egress.Options
		want    string // "": it is right
	}{
		{"nothing", allow(""), ""},
		{"a final comma", allow("a.internal,"), ""},
		{"every kind", allow("a_b.internal, 10.0.0.0/8,192.168.1.20,fd12::1,::1,localhost"), ""},
		{"a network around what is never allowed", allow("169.0.0.0/8"), ""},
		{"a URL", allow("http://10.0.0.5:8000"), of + `entry "http://10.0.0.5:8000"` + form},
		{"a port", allow("a,10.0.0.5:8000"), of + `entry "10.0.0.5:8000"` + form},
		{"every name", allow("*"), of + `entry "*"` + form},
		{"a network of too many bits", allow("10.0.0.0/33"), of + `entry "10.0.0.0/33"` + form},
		{"a zone", allow("fd12::1%eth0"), of + `entry "fd12::1%eth0"` + form},
		{"a short address", allow("127.1"), of + `entry "127.1"` + form},
		{"metadata", allow("169.254.169.254"), of + `entry "169.254.169.254"` + never},
		{"metadata, mapped", allow("::ffff:169.254.169.254"), of + `entry "::ffff:169.254.169.254"` + never},
		{"link-local", allow("169.254.0.0/16"), of + `entry "169.254.0.0/16"` + never},
		{"link-local of IPv6", allow("fe80::/64"), of + `entry "fe80::/64"` + never},
		{"metadata of IPv6", allow("fd00:ec2::254"), of + `entry "fd00:ec2::254"` + never},
		{"no proxy", proxy("off"), ""},
		{"another value", proxy("yes"), `environment variable REVEILLE_EGRESS_PROXY is "yes", allowed: on, off`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := egress.Read(tt.options)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want):
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
		})
	}
}
