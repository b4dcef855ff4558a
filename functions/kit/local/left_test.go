package local

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// A run goes on when the client that started it leaves. A host that stops gives it
// back all the same, like those whose clients are there.
func TestAStoppingHostGivesRunsBackWhoseClientsHaveLeft(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	s, err := settings.Read([]string{"REVEILLE_DATA=" + data})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	h.linger = 0
	left := make(chan struct{})
	handler := h.handler
	h.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(left) })
		handler.ServeHTTP(w, r)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := serve(ctx, listener, h, time.Millisecond)
		h.shutDown()
		ended <- err
	}()
	reading, leave := context.WithCancel(t.Context())
	r := request(t, "POST", "http://"+listener.Addr().String()+"/v1/ai-sdk/chat", strings.Replace(chat, "echo: hello", "slow: 200", 1))
	open(t, r.WithContext(reading), `"delta":"w1"`)
	leave()
	<-left
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	file, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := file.Head(t.Context(), core.ThreadKey{Tenant: localTenant, Thread: "t1"})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if head.Claim.Fence != 0 || head.Run.Attempts != 0 || head.Run.Lost != 0 {
		t.Errorf("the run has a claim of fence %d, %d attempts, %d lost claims, want none", head.Claim.Fence, head.Run.Attempts, head.Run.Lost)
	}
}
