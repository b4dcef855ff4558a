package egress_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/egress"
)

func get(t *testing.T, c *egress.Client, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(request)
}

// rules are those of options that are right.
func rules(t *testing.T, o egress.Options) egress.Rules {
	t.Helper()
	r, err := egress.Read(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func client(t *testing.T, o egress.Options, l egress.Limits) *egress.Client {
	t.Helper()
	return rules(t, o).Client(l)
}

// names is a resolver that gives every name these addresses, one after the other. Several
// with spaces between them are given together.
func names(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			size := make([]byte, 2)
			for {
				if _, err := io.ReadFull(server, size); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(server, query); err != nil {
					return
				}
				end := 12 + bytes.IndexByte(query[12:], 0) + 5 // of the question
				answer := append(bytes.Clone(query[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
				answer = append(answer, query[12:end]...)
				if query[end-3] == 1 { // of IPv4
					for _, ip := range strings.Fields(addresses[min(int(asked.Add(1))-1, len(addresses)-1)]) {
						answer[7]++
						answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), net.ParseIP(ip).To4()...)
					}
				}
				if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

// A name is worth what it resolves to when the connection is made: one that leads
// elsewhere than it did when somebody looked does not get there.
func TestNamesThatLeadInside(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, inside := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1"} {
		for _, here := range []bool{false, true} {
			c := client(t, egress.Options{Resolver: names(t, inside), Loopback: here}, egress.Limits{Timeout: 5 * time.Second})
			response, err := get(t, c, "https://rebound.example:"+port+"/?key=secret")
			if err == nil {
				_ = response.Body.Close()
			}
			if !errors.Is(err, egress.ErrRefused) || !strings.Contains(err.Error(), "rebound.example leads to "+inside+", which is ") || strings.Contains(err.Error(), "secret") {
				t.Errorf("to %s: %v", inside, err)
			}
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()
	response, err := get(t, client(t, egress.Options{Loopback: true}, egress.Limits{}), server.URL+"/a")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusFound || len(paths) != 1 {
		t.Errorf("status %d after %v", response.StatusCode, paths)
	}
}

// What would be a proxy's address in the environment is none here.
func TestNoProxyIsUsed(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	c := client(t, egress.Options{Resolver: names(t, "10.0.0.1")}, egress.Limits{})
	response, err := get(t, c, "https://hooks.example/")
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, egress.ErrRefused) {
		t.Errorf("error %v", err)
	}
}

func TestSizeOfAResponse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", map[string]int{"/at": 1000, "/over": 1001}[r.URL.Path]))
	}))
	defer server.Close()
	c := client(t, egress.Options{Loopback: true}, egress.Limits{MaxBody: 1000})
	for path, want := range map[string]error{"/at": nil, "/over": egress.ErrTooLarge} {
		response, err := get(t, c, server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if len(b) != 1000 || !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
}

func TestTimeOfARequest(t *testing.T) {
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-end
	}))
	defer server.Close()
	defer close(end)
	var response *http.Response
	err := context.DeadlineExceeded
	// The time is for what comes before the body, too, which takes long where the machine has other things to do.
	for within := 50 * time.Millisecond; within <= 5*time.Second && errors.Is(err, context.DeadlineExceeded); within *= 10 {
		response, err = get(t, client(t, egress.Options{Loopback: true}, egress.Limits{Timeout: within}), server.URL)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the body ends with %v", err)
	}
}

// By https too a host that is allowed is connected to: what is wrong with it then is its
// certificate.
func TestHTTPSIsVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	server.Config.ErrorLog = nil
	defer server.Close()
	response, err := get(t, client(t, egress.Options{Loopback: true}, egress.Limits{}), server.URL)
	if err == nil {
		_ = response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}
