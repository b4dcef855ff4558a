package httpapi_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// Sixteen requests prepare what they read at a time. One that waits for its slow client
// is none of them, and whoever streams or writes does not wait.
func TestSixteenRequestsReadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		handler := newServer(&fake{messages: func(core.Identity, host.MessageQuery) (host.MessagePage, error) {
			<-free
			return host.MessagePage{}, nil
		}})
		began, over := time.Now(), make(chan int, 32)
		page := func() {
			go func() { over <- do(handler, "GET", "/v1/threads/t1/messages", "").Code }()
			synctest.Wait()
		}
		for range 16 {
			page()
		}
		var late *httptest.ResponseRecorder
		waited := make(chan time.Duration, 1)
		go func() {
			late = do(handler, "GET", "/v1/threads/t1/messages", "")
			waited <- time.Since(began)
		}()
		synctest.Wait()
		if rec := do(handler, "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hi"}]}`); rec.Code != 202 {
			t.Errorf("a write: %d %s", rec.Code, rec.Body)
		}
		if rec := do(handler, "GET", "/v1/runs/"+runID.String()+"/events/stream", ""); rec.Code == 503 {
			t.Errorf("a stream: %d %s", rec.Code, rec.Body)
		}
		const want = `{"error":"more than 16 requests read at a time, and this one has waited for 10s: try again","code":"throttled"}`
		if took := <-waited; took != 10*time.Second || late.Code != 503 || strings.TrimSpace(late.Body.String()) != want || late.Header().Get("Retry-After") != "10" {
			t.Errorf("the seventeenth, after %s: %d %v %s", took, late.Code, late.Header(), late.Body)
		}
		page() // it waits
		close(free)
		for range 17 {
			if code := <-over; code != 200 {
				t.Errorf("a page: %d", code)
			}
		}
	})
}

// The turn ends with the first byte: sixteen clients that read nothing keep nobody waiting.
func TestASlowClientTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newServer(&fake{messages: func(core.Identity, host.MessageQuery) (host.MessagePage, error) {
			return host.MessagePage{}, nil
		}})
		free, over := make(chan struct{}), make(chan struct{}, 16)
		for range 16 {
			go func() {
				r := httptest.NewRequest("GET", "/v1/threads/t1/messages", nil)
				handler.ServeHTTP(deaf{httptest.NewRecorder(), free}, r)
				over <- struct{}{}
			}()
			synctest.Wait()
		}
		began := time.Now()
		if rec := do(handler, "GET", "/v1/threads/t1/messages", ""); rec.Code != 200 || time.Since(began) != 0 {
			t.Errorf("beside them: %d after %s", rec.Code, time.Since(began))
		}
		close(free)
		for range 16 {
			<-over
		}
	})
}

// A body that does not arrive takes no turn either, and health is told while all are taken.
func TestABodyThatDoesNotArriveTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		handler := newServer(&fake{messages: func(core.Identity, host.MessageQuery) (host.MessagePage, error) {
			<-free
			return host.MessagePage{}, nil
		}})
		body, rest := io.Pipe()
		over := make(chan struct{}, 32)
		for range 16 {
			go func() {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/threads/t1/messages", body))
				over <- struct{}{}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if rec := do(handler, "GET", "/openapi.json", ""); rec.Code != 200 || time.Since(began) != 0 {
			t.Errorf("beside sixteen bodies: %d after %s", rec.Code, time.Since(began))
		}
		for range 16 {
			go func() {
				do(handler, "GET", "/v1/threads/t1/messages", "")
				over <- struct{}{}
			}()
		}
		synctest.Wait()
		for _, path := range []string{"/health", "/health/live"} {
			if rec := do(handler, "GET", path, ""); rec.Code != 200 || time.Since(began) != 0 {
				t.Errorf("%s while all turns are taken: %d after %s", path, rec.Code, time.Since(began))
			}
		}
		close(free)
		_ = rest.CloseWithError(io.ErrUnexpectedEOF)
		for range 32 {
			<-over
		}
	})
}

// deaf is a client that takes nothing until it is freed.
type deaf struct {
	*httptest.ResponseRecorder
	free chan struct{}
}

func (d deaf) Write(p []byte) (int, error) {
	<-d.free
	return d.ResponseRecorder.Write(p)
}
