package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
)

func TestTheLineOfARequestHasTheEndOfItsStream(t *testing.T) {
	left, leave := context.WithCancel(context.Background())
	slow := func() error { panic("replaced") }
	stops, stop := context.WithCancelCause(context.Background())
	tests := []struct {
		name   string
		ctx    context.Context
		write  func() error // nil: the client reads everything; slow: nothing
		source func(host.Listener) error
		want   string
	}{
		{"with its last event", nil, nil, func(l host.Listener) error { return errors.Join(l.Emit(said), l.Emit(ended)) }, "ended"},
		{"with an error", nil, nil, func(l host.Listener) error {
			return errors.Join(l.Emit(said), core.Errorf(core.CodeFull, "t1 is full"))
		}, "failed"},
		{"without its last event", nil, nil, func(l host.Listener) error { return l.Emit(said) }, "failed"},
		{"with a panic", nil, nil, func(l host.Listener) error { _ = l.Emit(said); panic("secret") }, "failed"},
		{"without its client", left, nil, func(l host.Listener) error { _ = l.Emit(said); leave(); return left.Err() }, "client_left"},
		{"with its host", stops, nil, func(l host.Listener) error { _ = l.Emit(said); stop(host.ErrStopping); return stops.Err() }, "failed"},
		{"with a broken connection", nil, func() error { return errors.New("broken pipe") }, func(l host.Listener) error {
			_ = l.Emit(said)
			synctest.Wait()
			return l.Emit(said)
		}, "client_left"},
		{"with a client that reads nothing", nil, slow, func(l host.Listener) error {
			for range 40 {
				time.Sleep(time.Second)
				_ = l.Emit(said)
			}
			return nil
		}, "client_slow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				r := httptest.NewRequest("GET", "/x", http.NoBody)
				r = r.WithContext(context.Background())
				if tt.ctx != nil {
					r = r.WithContext(tt.ctx)
				}
				r, line := requestlog.Start(r, requestlog.Options{Env: env.System(), Log: slog.New(slog.NewTextHandler(&out, nil))}, "", "")
				response := stalled()
				switch {
				case tt.write == nil:
					response.write = func() error { return nil }
				case tt.want != "client_slow":
					response.write = tt.write
				}
				o := protocol.Server{Env: env.System(), Log: quiet}
				if err := o.Serve(response, r, &lettersEncoder{}, tt.source); err != nil {
					t.Error(err)
				}
				line.End(requestlog.Response{Status: http.StatusOK, Stream: true})
				if _, got, _ := strings.Cut(out.String(), "stream="); strings.TrimSpace(got) != tt.want {
					t.Errorf("line %s, want stream=%s", out.String(), tt.want)
				}
			})
		})
	}
}
