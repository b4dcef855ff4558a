package protocol_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
)

func TestAHandlerIsBuiltAtItsFirstRequestAndOnce(t *testing.T) {
	built := 0
	handler := protocol.Later(func() http.Handler {
		built++
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	if built != 0 {
		t.Error("it was built before anybody asked")
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if w.Code != http.StatusTeapot {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	group.Wait()
	if built != 1 {
		t.Errorf("it was built %d times", built)
	}
}
