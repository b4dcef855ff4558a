package egress_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/egress"
)

// listening is a server on an address of this machine. It counts requests.
func listening(t *testing.T, at string) (port string, asked *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int64)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "here")
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port, asked
}

// fetch sends a request through the transport. It returns the body, or the error's text.
func fetch(t *testing.T, o egress.Options, url string) string {
	t.Helper()
	response, err := rules(t, o).HTTPClient().Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Each case connects, or tries to: this machine has all addresses of 127.0.0.0/8, so one
// of them is a host that is allowed, and another is one that is not.
func TestWhereNamesLead(t *testing.T) {
	port, allowed := listening(t, "127.0.0.2:0")
	denied, err := net.Listen("tcp", "127.0.0.3:"+port)
	if err != nil {
		t.Skip(err) // another program has the port there
	}
	defer denied.Close()
	go func() {
		if c, err := denied.Accept(); err == nil {
			_ = c.Close()
			t.Error("a connection to the address that is not allowed was made")
		}
	}()
	to := func(list string, resolved ...string) egress.Options {
		return egress.Options{Getenv: variables(egress.AllowVariable, list), Resolver: names(t, resolved...)}
	}
	url := "http://model.internal:" + port + "/"
	private := func(ip string) string {
		return "model.internal leads to " + ip + ", which is not public: to allow it, list model.internal in REVEILLE_EGRESS_ALLOW"
	}
	never := func(ip string) string {
		return "model.internal leads to " + ip + ", which is link-local, multicast or of a metadata service, and never allowed"
	}
	runtime := to("model.internal", "127.0.0.2")
	runtime.Getenv = variables(egress.AllowVariable, "model.internal", "AWS_LAMBDA_RUNTIME_API", "127.0.0.2:"+port)
	domain := to("", "127.0.0.2")
	domain.Domains = []string{"internal"}
	other := to("", "127.0.0.2")
	other.Domains = []string{"el.internal", "model.internal"}
	tests := []struct {
		name    string
		options egress.Options
		url     string
		want    string // in the body or the error
	}{
		{"an allowed name at a private address", to("model.internal", "127.0.0.2"), url, "here"},
		{"an allowed name with a final dot", to("model.internal", "127.0.0.2"), "http://MODEL.internal.:" + port, "here"},
		{"an allowed name at the metadata", to("model.internal", "169.254.169.254"), url, never("169.254.169.254")},
		{"an allowed name at the credentials of containers", to("model.internal,0.0.0.0/0", "169.254.170.2"), url, never("169.254.170.2")},
		{"another name", to("", "127.0.0.2"), "https://model.internal:" + port, private("127.0.0.2")},
		{"another name in an allowed network", to("127.0.0.2/32", "127.0.0.2"), "https://model.internal:" + port, "server gave HTTP response"},
		{"another name beside an allowed network", to("127.0.0.2/32", "127.0.0.3"), "https://model.internal:" + port, private("127.0.0.3")},
		{"the runtime API by an allowed name", runtime, url, "model.internal leads to the runtime API of Lambda, which is never allowed"},
		{"a name in a domain", domain, "https://model.internal:" + port, "server gave HTTP response"},
		{"a name whose end is like a domain", other, "https://model.internal:" + port, private("127.0.0.2")},
		{"an allowed address, mapped", to("127.0.0.2"), "http://[::ffff:127.0.0.2]:" + port, "here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fetch(t, tt.options, tt.url); !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
	if n := allowed.Load(); n != 3 {
		t.Errorf("%d requests reached the allowed address, want 3", n)
	}
}

// A name of several addresses is reached at the one that is allowed, whichever comes first.
func TestANameWithSeveralAddresses(t *testing.T) {
	port, asked := listening(t, "127.0.0.2:0")
	for _, order := range [][]string{{"10.1.2.3", "127.0.0.2"}, {"127.0.0.2", "10.1.2.3"}, {"169.254.169.254", "127.0.0.2"}} {
		o := egress.Options{Getenv: variables(egress.AllowVariable, "127.0.0.2"), Resolver: names(t, strings.Join(order, " "))}
		if got := fetch(t, o, "https://model.internal:"+port); !strings.Contains(got, "server gave HTTP response") {
			t.Errorf("%v: %s", order, got)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
	o := egress.Options{Getenv: variables(), Resolver: names(t, "10.1.2.3 192.168.1.1")}
	if got := fetch(t, o, "https://model.internal:"+port); !strings.Contains(got, "which is not public") {
		t.Errorf("two private addresses: %s", got)
	}
}

// A record that changes between two looks: the first, at the public address, is a client's
// check, and the second is the connection's.
func TestARecordThatChanges(t *testing.T) {
	port, asked := listening(t, "127.0.0.1:0")
	resolver := names(t, "8.8.8.8", "127.0.0.1")
	if looked, err := resolver.LookupHost(t.Context(), "rebound.example"); err != nil || len(looked) != 1 || looked[0] != "8.8.8.8" {
		t.Fatalf("the first look has %v, %v", looked, err)
	}
	got := fetch(t, egress.Options{Getenv: variables(), Local: true, Resolver: resolver}, "https://rebound.example:"+port)
	if !strings.Contains(got, "rebound.example leads to 127.0.0.1, which is not public") || asked.Load() != 0 {
		t.Errorf("%s, %d requests", got, asked.Load())
	}
}

// A connection is kept for the next request, and a body of a refused request is closed.
func TestTheTransportIsOneOfTheStandardLibrary(t *testing.T) {
	var remotes []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { remotes = append(remotes, r.RemoteAddr) }))
	defer server.Close()
	client := rules(t, egress.Options{Local: true, Getenv: variables()}).HTTPClient()
	for range 2 {
		response, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if len(remotes) != 2 || remotes[0] != remotes[1] {
		t.Errorf("connections %q, want one", remotes)
	}
	body := &closing{Reader: strings.NewReader("x")}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://10.0.0.1/", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Transport.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, egress.ErrRefused) || !body.closed {
		t.Errorf("error %v, the body is closed: %v", err, body.closed)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestRedirectsAreNamed(t *testing.T) {
	const end = ", and redirects are not followed: configure the final address"
	for _, tt := range []struct {
		status         int
		location, want string
	}{
		{200, "https://a.example/", ""},
		{304, "", ""},
		{302, "http://169.254.169.254/latest?token=secret", "the server redirects to http://169.254.169.254" + end},
		{308, "https://u:secret@b.example:8443/x", "the server redirects to https://b.example:8443" + end},
		{301, "//b.example/x", "the server redirects to //b.example" + end},
		{307, "/v2/messages?key=secret", "the server redirects to another path of the same host" + end},
		{303, "http://[::1", "the server redirects to an address that is not a URL" + end},
		{400, "https://a.example/", ""},
	} {
		response := &http.Response{StatusCode: tt.status, Header: http.Header{}}
		if tt.location != "" {
			response.Header.Set("Location", tt.location)
		}
		if got := egress.Redirect(response); got != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.status, tt.location, got, tt.want)
		}
	}
}

// The standard library reads the variables of proxies once in a process: each case has its
// own.
func TestTheProxyOfTheOperator(t *testing.T) {
	if url := os.Getenv("EGRESS_TEST_URL"); url != "" {
		t.Log("got " + fetch(t, egress.Options{Local: true, Resolver: names(t, "10.0.0.1")}, url))
		return
	}
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	port, _ := listening(t, "127.0.0.2:0")
	for _, tt := range []struct {
		name, url   string
		environment []string
		want, asked string
	}{
		{"on", "https://models.example/v1", []string{"REVEILLE_EGRESS_PROXY=on"}, "I'm a teapot", "CONNECT models.example:443"},
		{"off", "https://models.example/v1", nil, "models.example leads to 10.0.0.1", ""},
		{"on, without a proxy", "https://models.example/", []string{"REVEILLE_EGRESS_PROXY=on", "HTTPS_PROXY="}, "environment variable REVEILLE_EGRESS_PROXY is on, but HTTPS_PROXY names no proxy: set it, or unset REVEILLE_EGRESS_PROXY", ""},
		{"on, in Lambda", "https://models.example/", []string{"REVEILLE_EGRESS_PROXY=on", "AWS_LAMBDA_RUNTIME_API=127.0.0.1:9"}, "models.example leads to 10.0.0.1", ""},
		{"an allowed host is reached without it", "http://127.0.0.2:" + port, []string{"REVEILLE_EGRESS_PROXY=on", "REVEILLE_EGRESS_ALLOW=127.0.0.2"}, "here", ""},
		{"an exception", "https://models.example/", []string{"REVEILLE_EGRESS_PROXY=on", "NO_PROXY=models.example"}, "models.example leads to 10.0.0.1", ""},
		{"a private address", "https://10.0.0.1/", []string{"REVEILLE_EGRESS_PROXY=on"}, "host 10.0.0.1 is not public", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mu.Lock()
			asked = nil
			mu.Unlock()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheProxyOfTheOperator$", "-test.v")
			c.Env = append(os.Environ(), "EGRESS_TEST_URL="+tt.url, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=", "https_proxy=")
			c.Env = append(c.Env, tt.environment...)
			out, _ := c.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(string(out), tt.want) || strings.Join(asked, "; ") != tt.asked {
				t.Errorf("got %s, the proxy was asked for %q", out, asked)
			}
		})
	}
}
