package local

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// guarded is a handler that accepts everything, behind the guard of a host with
// these settings.
func guarded(t *testing.T, pairs ...string) http.Handler {
	t.Helper()
	s, err := settings.Read(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return newGuard(s, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }))
}

// exchange sends a literal request (its lines end as in HTTP) and returns the
// status and the first line of the body.
func exchange(t *testing.T, address, request string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	status, body := read(t, response)
	return fmt.Sprint(status, " ", strings.TrimSpace(body))
}

// listen serves a handler on a free port of this machine.
func listen(t *testing.T, h http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return listener.Addr().String()
}

func TestForeignHostNamesAreRefused(t *testing.T) {
	refused := func(localHost string) string {
		return `421 {"error":"host \"` + localHost + `\" is not a name of this machine; set REVEILLE_HOSTS to add names","code":"forbidden"}`
	}
	const in = "200 in"
	atDefault := listen(t, guarded(t))
	everywhere := listen(t, guarded(t, "REVEILLE_ADDR=0.0.0.0:3000", "REVEILLE_AUTH=none", "REVEILLE_HOSTS=dev.example,10.0.0.7,fd00::1"))
	named := listen(t, guarded(t, "REVEILLE_ADDR=Dev.Example.:3000", "REVEILLE_AUTH=none"))
	addressed := listen(t, guarded(t, "REVEILLE_ADDR=10.0.0.7:3000", "REVEILLE_AUTH=none"))
	tests := []struct{ name, address, localHost, want string }{
		{"the address that it listens on", addressed, "10.0.0.7:3000", in},
		{"another address than that", addressed, "10.0.0.8:3000", refused("10.0.0.8:3000")},
		{"the name of every machine", atDefault, "localhost", in},
		{"with a port", atDefault, "localhost:3000", in},
		{"with another port, as behind a tunnel", atDefault, "localhost:8080", in},
		{"in capital letters with a final dot", atDefault, "LocalHost.:3000", in},
		{"the address of every machine", atDefault, "127.0.0.1:3000", in},
		{"IPv6", atDefault, "[::1]:3000", in},
		{"IPv6 without port", atDefault, "[::1]", in},
		{"DNS rebinding", atDefault, "evil.example", refused("evil.example")},
		{"DNS rebinding with a port", atDefault, "evil.example:3000", refused("evil.example:3000")},
		{"a name that begins alike", atDefault, "localhost.evil.example", refused("localhost.evil.example")},
		{"a name that ends alike", atDefault, "evillocalhost", refused("evillocalhost")},
		{"two final dots", atDefault, "localhost..", refused("localhost..")},
		{"two ports", atDefault, "localhost:3000:3000", refused("localhost:3000:3000")},
		{"another address of this machine", atDefault, "10.0.0.7:3000", refused("10.0.0.7:3000")},
		{"an address that no client can mean", atDefault, "0.0.0.0:3000", refused("0.0.0.0:3000")},
		{"no name", atDefault, "", refused("")},
		{"the configured name", everywhere, "dev.example:3000", in},
		{"the configured address", everywhere, "10.0.0.7:3000", in},
		{"the configured IPv6 address", everywhere, "[fd00::1]:3000", in},
		{"this machine beside configured names", everywhere, "localhost:3000", in},
		{"a name that is not configured", everywhere, "evil.example:3000", refused("evil.example:3000")},
		{"the name that it listens on", named, "dev.example:3000", in},
		{"another name than that", named, "evil.example:3000", refused("evil.example:3000")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, method := range []string{"GET", "OPTIONS", "POST", "DELETE"} {
				request := method + " / HTTP/1.1\nHost: " + test.localHost + "\nContent-Type: application/json\nContent-Length: 0\nConnection: close\n\n"
				if got := exchange(t, test.address, request); got != test.want {
					t.Errorf("%s: %s, want %s", method, got, test.want)
				}
			}
		})
	}
}

// TestTheTargetOfARequestCountsAsItsHost: what stands in the request line goes
// before the header, and no name at all is a foreign one.
func TestTheTargetOfARequestCountsAsItsHost(t *testing.T) {
	address := listen(t, guarded(t))
	tests := []struct{ name, request, want string }{
		{"a foreign target", "GET http://evil.example/ HTTP/1.1\nHost: localhost\nConnection: close\n\n",
			`421 {"error":"host \"evil.example\" is not a name of this machine; set REVEILLE_HOSTS to add names","code":"forbidden"}`},
		{"no header", "GET / HTTP/1.0\n\n", `421 {"error":"host \"\" is not a name of this machine; set REVEILLE_HOSTS to add names","code":"forbidden"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := exchange(t, address, test.request); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestForeignPagesCannotWrite(t *testing.T) {
	const (
		in      = "200 in"
		foreign = `403 {"error":"the request comes from a page of another site; set REVEILLE_ORIGINS to allow its origin","code":"forbidden"}`
		media   = `415 {"error":"content type of a POST must be application/json, or absent without a body: a form could come from a page of another site","code":"unsupported"}`
		json    = "Content-Type: application/json\n"
	)
	address := listen(t, guarded(t, "REVEILLE_ORIGINS=http://localhost:5173,https://app.example"))
	tests := []struct{ name, method, header, want string }{
		{"a program", "POST", json, in},
		{"a program that deletes", "DELETE", json, in},
		{"a JSON type with parameters", "POST", "Content-Type: application/json; charset=utf-8\n", in},
		{"a JSON type with a broken parameter", "POST", "Content-Type: application/json; charset\n", media},
		{"a type on JSON", "POST", "Content-Type: application/merge-patch+json\n", in},
		{"the host's own page", "POST", json + "Sec-Fetch-Site: same-origin\nOrigin: http://localhost:3000\n", in},
		{"the host's own page in an old browser", "POST", json + "Origin: http://localhost:3000\n", in},
		{"the host's own page behind a TLS proxy", "POST", json + "Origin: https://localhost:3000\n", in},
		{"a bookmark", "POST", json + "Sec-Fetch-Site: none\n", in},
		{"a configured origin", "POST", json + "Sec-Fetch-Site: same-site\nOrigin: http://localhost:5173\n", in},
		{"another configured origin", "POST", json + "Sec-Fetch-Site: cross-site\nOrigin: https://app.example\n", in},
		{"another port of this machine", "POST", json + "Sec-Fetch-Site: same-site\nOrigin: http://localhost:4000\n", foreign},
		{"another port in an old browser", "POST", json + "Origin: http://localhost:4000\n", foreign},
		{"another name of this machine", "POST", json + "Origin: http://127.0.0.1:3000\n", foreign},
		{"another site", "POST", json + "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", foreign},
		{"another site without Origin", "POST", json + "Sec-Fetch-Site: cross-site\n", foreign},
		{"a sandboxed frame", "POST", json + "Origin: null\n", foreign},
		{"a sandboxed frame of this host", "POST", json + "Sec-Fetch-Site: cross-site\nOrigin: null\n", foreign},
		{"an origin that begins as a configured one", "POST", json + "Origin: https://app.example.evil.example\n", foreign},
		{"a configured origin with http", "POST", json + "Origin: http://app.example\n", foreign},
		{"two origins", "POST", json + "Origin: http://localhost:5173\nOrigin: https://evil.example\n", foreign},
		{"two sites", "POST", json + "Sec-Fetch-Site: same-origin\nSec-Fetch-Site: cross-site\n", foreign},
		{"another site that deletes", "DELETE", json + "Sec-Fetch-Site: cross-site\n", foreign},
		{"another site with a method of its own", "CANCEL", json + "Sec-Fetch-Site: cross-site\n", foreign},
		{"a form of another site", "POST", "Content-Type: application/x-www-form-urlencoded\nSec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", foreign},
		{"a form, from an old browser without headers", "POST", "Content-Type: text/plain\n", media},
		{"a form with files", "POST", "Content-Type: multipart/form-data; boundary=x\n", media},
		{"a program that posts nothing", "POST", "", in},
		{"a program that deletes without content type", "DELETE", "", in},
		{"a program that deletes with any content type", "DELETE", "Content-Type: text/plain\n", in},
		{"a script of another site that posts nothing", "POST", "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", foreign},
		{"a script of another site that posts nothing, in an old browser", "POST", "Origin: https://evil.example\n", foreign},
		{"a script of another site that deletes", "DELETE", "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", foreign},
		{"two content types", "POST", json + "Content-Type: text/plain\n", media},
		{"a page that hides its type in a list", "POST", "Content-Type: text/plain, application/json\n", media},
		{"another site that reads", "GET", "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", in},
		{"another site that asks for an echo", "TRACE", "Sec-Fetch-Site: cross-site\n", in},
		{"a preflight", "OPTIONS", "Sec-Fetch-Site: cross-site\nOrigin: https://evil.example\n", in},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := test.method + " /v1/runs HTTP/1.1\nHost: localhost:3000\n" + test.header + "Content-Length: 0\nConnection: close\n\n"
			if got := exchange(t, address, request); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestAnEmptyPostOfAnotherSiteCancelsNothing is the whole host: a form without
// fields needs no preflight.
func TestAnEmptyPostOfAnotherSiteCancelsNothing(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_DATA=" + filepath.Join(t.TempDir(), "data.db")})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, h.handler)
	t.Cleanup(h.shutDown)
	url := "http://" + address
	status, body := post(t, url+"/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"approve: x"}]}`)
	if status != http.StatusAccepted {
		t.Fatal(status, body)
	}
	_, run, _ := strings.Cut(body, `"run_id":"`)
	run, _, _ = strings.Cut(run, `"`)
	get(t, url+"/v1/runs/"+run+"/events/stream") // until it waits
	for _, test := range []struct{ name, header, want string }{
		{"a form of an old browser", "Content-Type: application/x-www-form-urlencoded\n", "415 "},
		{"a form", "Content-Type: application/x-www-form-urlencoded\nOrigin: https://evil.example\nSec-Fetch-Site: cross-site\n", "403 "},
		{"a script without a body", "Origin: https://evil.example\nSec-Fetch-Site: cross-site\n", "403 "},
		{"a script of an old browser", "Origin: https://evil.example\n", "403 "},
	} {
		got := exchange(t, address, "POST /v1/runs/"+run+"/cancel HTTP/1.1\nHost: "+address+"\n"+test.header+"Content-Length: 0\nConnection: close\n\n")
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if _, body := get(t, url+"/v1/runs/"+run); !strings.Contains(body, `"status":"waiting"`) {
		t.Errorf("the run is %s, want it to wait still", body)
	}
}

// An MCP server on this machine is what pages of other sites would like to reach.
func TestForeignPagesDoNotReachTheMCPServer(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "reveille.db"))
	address := strings.TrimPrefix(url, "http://")
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct{ name, localHost, header, want string }{
		{"its own", address, "", "200 "},
		{"a name that resolves to this machine", "evil.example", "", "421 "},
		{"a page of another site", address, "Origin: https://evil.example\n", "403 "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := exchange(t, address, fmt.Sprintf("POST /v1/mcp HTTP/1.1\nHost: %s\n%sContent-Type: application/json\nContent-Length: %d\nConnection: close\n\n%s", test.localHost, test.header, len(body), body))
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
