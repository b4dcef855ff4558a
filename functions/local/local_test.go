package local

import (
	"testing"

	"github.com/reveille-run/reveille/functions/settings"
)

func TestHostIsNotOpenUnawares(t *testing.T) {
	open := func(addr string) string {
		return "REVEILLE_ADDR " + addr + " is open to other machines and the local host authenticates nobody: set REVEILLE_AUTH=none to say that you mean it, and REVEILLE_HOSTS to the names that it is reached by"
	}
	tests := []struct{ name, addr, auth, want string }{
		{"the default", "127.0.0.1:3000", "", ""},
		{"a name of this machine", "localhost:3000", "", ""},
		{"IPv6 of this machine", "[::1]:3000", "", ""},
		{"every address, said", "0.0.0.0:3000", "none", ""},
		{"every address", "0.0.0.0:3000", "", open("0.0.0.0:3000")},
		{"no host", ":3000", "", open(":3000")},
		{"another name", "example.com:3000", "", open("example.com:3000")},
		{"no port", "127.0.0.1", "", `environment variable REVEILLE_ADDR is "127.0.0.1", allowed: host:port`},
		{"a gateway", "127.0.0.1:3000", "gateway", `environment variable REVEILLE_AUTH is "gateway", allowed on the local host: none`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := checkAuth(settings.Settings{Addr: test.addr, Auth: test.auth}); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q\nwant  %q", got, test.want)
			}
		})
	}
}
