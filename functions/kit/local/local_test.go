package local

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

func TestHostIsNotOpenUnawares(t *testing.T) {
	open := func(addr string) string {
		return "REVEILLE_ADDR " + addr + " is open to other machines, and the local host does not authenticate callers: set REVEILLE_AUTH=none to allow this, and REVEILLE_HOSTS to the names that clients use"
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

// TestTheHostIgnoresNoWayToAuthenticate: whoever sets one believes that requests are
// checked, and here they are not.
func TestTheHostIgnoresNoWayToAuthenticate(t *testing.T) {
	tests := []struct{ variable, want string }{
		{"REVEILLE_TENANT=acme", ""},
		{"REVEILLE_TENANT_CLAIM=org", "REVEILLE_TENANT_CLAIM"},
		{"REVEILLE_USER_CLAIM=user", "REVEILLE_USER_CLAIM"},
		{"REVEILLE_TENANTS=111122223333=acme", "REVEILLE_TENANTS"},
		{"REVEILLE_ISSUER=https://issuer.example", "REVEILLE_ISSUER"},
		{"REVEILLE_KEYS_URL=https://issuer.example/keys", "REVEILLE_KEYS_URL"},
		{"REVEILLE_CLIENTS=app", "REVEILLE_CLIENTS"},
	}
	for _, test := range tests {
		t.Run(test.variable, func(t *testing.T) {
			s, err := settings.Read([]string{test.variable})
			if err != nil {
				t.Fatal(err)
			}
			got, want := "", test.want
			if want != "" {
				want = "environment variable " + want + " applies to AWS only, unset it: the local host does not authenticate callers"
			}
			if err := checkAuth(s); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("error %q\nwant  %q", got, want)
			}
		})
	}
}

// TestTheTenantOfTheSettingsOwnsTheThreads: a thread of one tenant is none of another's.
func TestTheTenantOfTheSettingsOwnsTheThreads(t *testing.T) {
	for _, tenant := range []string{"", "acme"} {
		t.Run(tenant, func(t *testing.T) {
			s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_TENANT=" + tenant})
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			h, err := newHost(t.Context(), env.System(), s, slog.New(slog.NewTextHandler(&log, nil)), demonstration)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h.handler)
			_, body := post(t, server.URL+"/v1/ai-sdk/chat", chat)
			server.Close()
			h.shutDown()
			if want := "tenant=" + cmp.Or(tenant, "local") + " "; !strings.Contains(log.String(), want) {
				t.Errorf("%s\nlog %s\nwant %s", body, log.String(), want)
			}
		})
	}
}
