package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

// network is what the consumers can reach: a server at 127.0.0.2, which the operator
// allows, and one at 127.0.0.3 with the same port, which is the victim.
type network struct {
	port    string
	server  *httptest.Server
	respond http.HandlerFunc // of the allowed server
	allowed atomic.Int64     // its requests
	victim  atomic.Int64     // connections to the victim
	dns     *resolver
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{dns: &resolver{}}
	for range 20 { // another program may have the port at the other address
		allowed, err := net.Listen("tcp", "127.0.0.2:0")
		if err != nil {
			t.Fatal(err)
		}
		_, n.port, _ = net.SplitHostPort(allowed.Addr().String())
		victim, err := net.Listen("tcp", "127.0.0.3:"+n.port)
		if err != nil {
			_ = allowed.Close()
			continue
		}
		n.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.allowed.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			n.respond(w, r)
		}))
		_ = n.server.Listener.Close()
		n.server.Listener = allowed
		n.server.Start()
		t.Cleanup(n.server.Close)
		t.Cleanup(func() { _ = victim.Close() })
		go func() {
			for {
				c, err := victim.Accept()
				if err != nil {
					return
				}
				n.victim.Add(1)
				_ = c.Close()
			}
		}()
		return n
	}
	t.Fatal("no port is free at both addresses")
	return nil
}

// resolver stands for the name servers of the machine.
type resolver struct {
	mu      sync.Mutex
	answers []string // addresses with spaces between them, one after the other; the last stays
}

func (r *resolver) set(answers ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = answers
}

func (r *resolver) next() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) == 0 {
		return nil
	}
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return strings.Fields(answer)
}

// Dial is of a net.Resolver.
func (r *resolver) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		for {
			size := make([]byte, 2)
			if _, err := io.ReadFull(server, size); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size))
			if _, err := io.ReadFull(server, query); err != nil {
				return
			}
			answer := r.answer(query)
			if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
				return
			}
		}
	}()
	return client, nil
}

// answer answers questions for IPv4 addresses; for others there are none.
func (r *resolver) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	answer := append(query[:2:2], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	answer = append(answer, query[12:end]...)
	if query[end-3] != 1 {
		return answer
	}
	for _, ip := range r.next() {
		answer[7]++
		answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), net.ParseIP(ip).To4()...)
	}
	return answer
}

// attack is an address that may not be reached.
type attack struct {
	name    string
	address string   // PORT is that of the victim
	dns     []string // of the address's name
	allow   string   // in addition to 127.0.0.2
	want    string   // in the error
}

const (
	notPublic = "is not public: to allow it, list it in REVEILLE_EGRESS_ALLOW"
	never     = "is link-local, multicast or of a metadata service, which is never allowed"
	leads     = "which is not public: to allow it, list"
	notAName  = "is not a name or an address"
	plain     = "is http, allowed is https"
)

var attacks = []attack{
	{name: "http", address: "http://models.example/", want: plain},
	{name: "this machine", address: "http://127.0.0.3:PORT/", want: plain},
	{name: "this machine by name", address: "http://localhost:PORT/", want: plain},
	{name: "this machine by name and https", address: "https://localhost:PORT/", want: notPublic},
	{name: "this machine, IPv6", address: "https://[::1]:PORT/", want: notPublic},
	{name: "this machine, mapped", address: "https://[::ffff:127.0.0.3]:PORT/", want: notPublic},
	{name: "the runtime API", address: "http://127.0.0.9:9001/2018-06-01/runtime/invocation/next", allow: "127.0.0.9", want: "leads to the runtime API of Lambda, which is never allowed"},
	{name: "private", address: "https://10.0.0.5:PORT/", want: notPublic},
	{name: "private, final dot", address: "https://10.0.0.5.:PORT/", want: notPublic},
	{name: "private, NAT64", address: "https://[64:ff9b::10.0.0.5]/", want: notPublic},
	{name: "private, 6to4", address: "https://[2002:a00:5::1]/", want: notPublic},
	{name: "unique local", address: "https://[fd12::1]/", want: notPublic},
	{name: "metadata", address: "http://169.254.169.254/latest", want: never},
	{name: "metadata, https", address: "https://169.254.169.254/latest", want: never},
	{name: "metadata, allowed", address: "http://169.254.169.254/latest", allow: "0.0.0.0/0", want: never},
	{name: "metadata, final dot", address: "https://169.254.169.254./latest", want: never},
	{name: "metadata, mapped", address: "https://[::ffff:169.254.169.254]/", want: never},
	{name: "metadata, mapped in hexadecimal", address: "https://[::ffff:a9fe:a9fe]/", want: never},
	{name: "metadata, compatible", address: "https://[::169.254.169.254]/", want: never},
	{name: "metadata, NAT64", address: "https://[64:ff9b::a9fe:a9fe]/", want: never},
	{name: "metadata, 6to4", address: "https://[2002:a9fe:a9fe::1]/", want: never},
	{name: "metadata, IPv6", address: "https://[fd00:ec2::254]/", want: never},
	{name: "credentials of containers", address: "http://169.254.170.2/v2/credentials", want: never},
	{name: "a zone", address: "https://[fe80::1%25lo]/", want: never},
	{name: "decimal", address: "http://2130706435:PORT/", want: notAName},
	{name: "hexadecimal", address: "http://0x7f000003:PORT/", want: notAName},
	{name: "hexadecimal, in parts", address: "https://0x7f.0.0.3:PORT/", want: notAName + "||" + notPublic},
	{name: "octal", address: "https://0177.0.0.03:PORT/", want: notAName},
	{name: "short", address: "https://127.3:PORT/", want: notAName},
	{name: "digits of another script", address: "https://１２７.0.0.3:PORT/", want: notAName},
	{name: "a user", address: "https://models.example@127.0.0.3:PORT/", want: "user"},
	{name: "a name at this machine", address: "https://rebound.example:PORT/", dns: []string{"127.0.0.3"}, want: leads},
	{name: "a name at a private address", address: "https://rebound.example:PORT/", dns: []string{"10.1.2.3"}, want: leads},
	{name: "a name at the metadata", address: "https://rebound.example/", dns: []string{"169.254.169.254"}, want: "and never allowed"},
	{name: "an allowed name at the metadata", address: "http://rebound.example/", dns: []string{"169.254.169.254"}, allow: "rebound.example", want: "and never allowed"},
	{name: "a name with a final dot", address: "https://rebound.example.:PORT/", dns: []string{"127.0.0.3"}, want: leads},
	{name: "a name of several addresses", address: "https://rebound.example:PORT/", dns: []string{"127.0.0.3 10.1.2.3 192.168.1.1"}, want: leads},
	{name: "a name of several addresses, one allowed", address: "https://rebound.example:PORT/", dns: []string{"127.0.0.3 127.0.0.2"}, want: "HTTP response||TLS handshake"},
}

// TestAttacks sends each consumer to each address, as in a function: nothing reaches the
// victim, and the error says why, and never shows the credential.
func TestAttacks(t *testing.T) {
	n := newNetwork(t)
	n.respond = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: n.dns.Dial}
	t.Cleanup(func() { net.DefaultResolver = before })
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.9:9001")
	for _, c := range consumers {
		for _, a := range attacks {
			t.Run(c.name+"/"+a.name, func(t *testing.T) {
				t.Setenv("REVEILLE_EGRESS_ALLOW", "127.0.0.2,"+a.allow)
				n.dns.set(a.dns...)
				n.refused(t, c, a)
			})
		}
		t.Run(c.name+"/a record that changes", func(t *testing.T) {
			t.Setenv("REVEILLE_EGRESS_ALLOW", "127.0.0.2")
			n.dns.set("8.8.8.8", "127.0.0.3")
			if looked, err := net.DefaultResolver.LookupHost(t.Context(), "rebound.example"); err != nil || looked[0] != "8.8.8.8" {
				t.Fatalf("the first look has %v, %v", looked, err)
			}
			n.refused(t, c, attack{address: "https://rebound.example:PORT/", want: leads})
		})
	}
}

// refused fails unless the consumer does not reach the address, for the wanted reason.
func (n *network) refused(t *testing.T, c consumer, a attack) {
	t.Helper()
	err := c.ask(t, strings.ReplaceAll(a.address, "PORT", n.port))
	if err == nil || !containsAny(err.Error(), a.want) {
		t.Errorf("error %v, want %s", err, a.want)
	}
	if err != nil && strings.Contains(err.Error(), credential) {
		t.Errorf("the error shows the credential: %v", err)
	}
	if got := n.victim.Swap(0); got != 0 {
		t.Errorf("%d connections to the victim", got)
	}
}

func containsAny(text, alternatives string) bool {
	for want := range strings.SplitSeq(alternatives, "||") {
		if strings.Contains(text, want) {
			return true
		}
	}
	return false
}

// TestRedirects: a server that the operator allows redirects each consumer, which does not
// follow. The error names the new host and none of the secrets in its address.
func TestRedirects(t *testing.T) {
	n := newNetwork(t)
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.9:9001")
	t.Setenv("REVEILLE_EGRESS_ALLOW", "127.0.0.2,127.0.0.3")
	victim := "http://127.0.0.3:" + n.port
	targets := []struct{ location, want string }{
		{"http://169.254.169.254/latest/meta-data?token=hidden", "redirects to http://169.254.169.254,"},
		{victim + "/x?token=hidden", "redirects to " + victim + ","},
		{"http://u:hidden@127.0.0.3:" + n.port + "/", "redirects to " + victim + ","},
		{"//127.0.0.3:" + n.port + "/", "redirects to //127.0.0.3:" + n.port + ","},
		{"https://models.example/v1", "redirects to https://models.example,"},
		{"/elsewhere?token=hidden", "redirects to another path of the same host,"},
	}
	for _, c := range consumers {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, target := range targets {
				n.respond = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", target.location)
					w.WriteHeader(status)
				}
				n.allowed.Store(0)
				err := c.ask(t, "http://127.0.0.2:"+n.port+"/v1")
				what := fmt.Sprintf("%s: %d to %s", c.name, status, target.location)
				if err == nil || !strings.Contains(err.Error(), target.want) || !strings.Contains(err.Error(), fmt.Sprint("status ", status)) {
					t.Errorf("%s: error %v, want %s", what, err, target.want)
					continue
				}
				if text := err.Error(); strings.Contains(text, credential) || strings.Contains(text, "hidden") {
					t.Errorf("%s: the error shows a secret: %v", what, err)
				}
				if got := n.allowed.Load(); got != 1 {
					t.Errorf("%s: %d requests, want 1", what, got)
				}
				if failed, ok := errors.AsType[*model.Error](err); strings.HasPrefix(c.room, "models/") && (!ok || failed.Kind != model.KindInvalid || failed.RetryAfter != 0) {
					t.Errorf("%s: the error is not permanent: %+v", what, failed)
				}
			}
		}
	}
	if got := n.victim.Load(); got != 0 {
		t.Errorf("%d connections to the victim", got)
	}
}

// TestWhatIsAllowedIsReached: the same consumers reach a private server that the operator
// allows, so that the attacks fail because of the rules.
func TestWhatIsAllowedIsReached(t *testing.T) {
	n := newNetwork(t)
	n.respond = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: n.dns.Dial}
	t.Cleanup(func() { net.DefaultResolver = before })
	n.dns.set("127.0.0.2")
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.9:9001")
	for _, c := range consumers {
		for _, test := range []struct{ allow, host string }{
			{"127.0.0.2", "127.0.0.2"}, {"127.0.0.0/8", "127.0.0.2"}, {"model.internal", "model.internal"}, {"model.internal", "MODEL.internal."},
		} {
			t.Setenv("REVEILLE_EGRESS_ALLOW", test.allow)
			n.allowed.Store(0)
			err := c.ask(t, "http://"+test.host+":"+n.port)
			if err == nil || !strings.Contains(err.Error(), "status 418") || n.allowed.Load() != 1 {
				t.Errorf("%s to %s: error %v, %d requests", c.name, test.host, err, n.allowed.Load())
			}
		}
	}
}
