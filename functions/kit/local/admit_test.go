//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	reveille "github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Requests beyond REVEILLE_MAX_REQUESTS are refused, streams count, and health is told.
func TestMoreRequestsThanAllowedAreRefused(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_MAX_REQUESTS=2", "REVEILLE_ORIGINS=https://app.example"})
	if err != nil {
		t.Fatal(err)
	}
	url, h := serveSettings(t, s)
	if _, body := get(t, url+"/v1/capabilities"); !strings.Contains(body, `"max_requests":2`) {
		t.Errorf("the capabilities are %s", body)
	}
	var streams []*http.Response
	for n := range 2 {
		response, err := http.Post(url+"/v1/runs", "application/json", strings.NewReader(fmt.Sprintf(`{"threadId":"s%d","messages":[{"role":"user","content":"slow: 20"}]}`, n)))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %v, %v", n, response, err)
		}
		streams = append(streams, response)
	}
	request, err := http.NewRequest(http.MethodGet, url+"/v1/threads/t1/messages", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "https://app.example")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	// Else the browser shows its page a failure of the network, and neither status nor pause.
	if readable := response.Header.Get("Access-Control-Allow-Origin"); readable != "https://app.example" {
		t.Errorf("the refusal may be read by pages of %q", readable)
	}
	retry := response.Header.Get("Retry-After")
	const want = `{"error":"2 requests are open, which is the limit (REVEILLE_MAX_REQUESTS): try again later","code":"throttled"}`
	if status, body := read(t, response); status != http.StatusServiceUnavailable || strings.TrimSpace(body) != want || retry != "1" {
		t.Errorf("one more: %d %s, Retry-After %q", status, body, retry)
	}
	for _, path := range []string{"/health", "/health/live", "/metrics"} {
		if status, body := get(t, url+path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, s := range streams { // whose runs go on to their end, whoever reads
		_, _ = io.Copy(io.Discard, s.Body)
		_ = s.Body.Close()
	}
	for n := 0; h.open.Load() > 0; n++ { // the last byte leaves before its handler does
		if n > 1000 {
			t.Fatalf("%d requests are open", h.open.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if status, body := get(t, url+"/v1/threads/t1/messages"); status == http.StatusServiceUnavailable {
		t.Errorf("when one has ended: %d %s", status, body)
	}
}

// A stream goes to its end for a client that has closed its side behind its body.
func TestAStreamOutlastsItsClientsSide(t *testing.T) {
	running := serveUntilStopped(t, "memory")
	connection, err := net.Dial("tcp", strings.TrimPrefix(running.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = fmt.Fprintf(connection, "POST /v1/ai-sdk/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(chat), chat)
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(connection); err != nil || !strings.Contains(string(all), "data: [DONE]") {
		t.Errorf("%v\n%s", err, all)
	}
	running.stop()
	if err := <-running.ended; err != nil {
		t.Fatal(err)
	}
}

// A host that stops waits for nobody who has gone: their requests end with its reason.
func TestAStoppingHostEndsRequestsWhoseClientsHaveGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, stop := context.WithCancelCause(t.Context())
		asked, leave := context.WithCancel(base)
		ended := make(chan error, 1)
		handler := outlast(base, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
		}), time.Hour)
		go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(asked))
		leave()
		time.Sleep(59 * time.Minute) // the client may wait for its response
		select {
		case err := <-ended:
			t.Fatalf("the request has ended: %v", err)
		default:
		}
		stop(reveille.ErrStopping)
		if err := <-ended; !errors.Is(err, reveille.ErrStopping) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// Who has gone is noticed when the time is over.
func TestARequestEndsWhenItsClientHasBeenGoneForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, leave := context.WithCancel(t.Context())
		began, ended := time.Now(), make(chan time.Duration, 1)
		handler := outlast(t.Context(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			ended <- time.Since(began)
		}), lingerTime)
		go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(asked))
		leave()
		if took := <-ended; took != 10*time.Second {
			t.Errorf("it ended after %s, want 10 s", took)
		}
	})
}

// Clients that read nothing of a large page hold no more than the bound allows: those that
// find no room are refused, and what they would have read is free again.
func TestClientsThatReadNothingHoldBoundedMemory(t *testing.T) {
	const (
		clients = 60 // 170 MB of pages
		enough  = 5  // refusals, after which it ends
	)
	running := serveUntilStopped(t, "memory")
	address := strings.TrimPrefix(running.url, "http://")
	for n := range 3 { // one page of 2.8 MB
		body := fmt.Sprintf(`{"threadId":"large","messages":[{"role":"user","content":"%s%d"}]}`, strings.Repeat("x", 950_000), n)
		if status, body := post(t, running.url+"/v1/runs", body); status != http.StatusOK {
			t.Fatalf("%d %.200s", status, body)
		}
	}
	debug.FreeOSMemory()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	refused := 0
	narrow := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) { // so that the system takes next to nothing for it
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
		return errors.Join(err, failed)
	}}
	for n := 0; n < clients && refused < enough; n++ {
		c, err := narrow.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /v1/threads/large/messages HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 12)
		if _, err := io.ReadFull(c, line); err != nil {
			t.Fatal(err)
		}
		switch string(line) {
		case "HTTP/1.1 503":
			refused++
		case "HTTP/1.1 200":
		default:
			t.Fatalf("%q", line)
		}
	}
	debug.FreeOSMemory()
	runtime.ReadMemStats(&during)
	held := int64(during.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d clients were refused, %d MB are held", refused, held>>20)
	if refused < enough || held > 120<<20 {
		t.Errorf("%d of %d clients were refused, %d MB are held; want %d, and at most 120 MB", refused, clients, held>>20, enough)
	}
	if status, _ := get(t, running.url+"/health"); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}
	running.stop()
	<-running.ended
}
