package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// The limits of a connection. A client that stopped in the middle must not keep its
// connection open forever. httpapi.Bound limits responses, and the writer of frames limits
// streams.
const (
	headerTime = 10 * time.Second // for a request's line and headers
	bodyTime   = 30 * time.Second // for its body
	idleTime   = 2 * time.Minute  // between two requests
	lingerTime = 10 * time.Second // for the response to a client that has closed its side, see outlast
	maxHeader  = 64 << 10         // bytes of a request's line and headers; net/http adds 4 KB
)

// bind binds the address. It is the first action of the host, so that a second host at the
// same address ends before it opens the store of the first.
func bind(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("address %s is in use, maybe by another local host: end that program, or set REVEILLE_ADDR to another address", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on REVEILLE_ADDR: %w", err)
	}
	return listener, nil
}

// reachable returns REVEILLE_ADDR as clients write it: with the bound port, and with
// localhost if it means all addresses of this machine.
func reachable(addr string, bound net.Addr) string {
	name, _, err := net.SplitHostPort(addr)
	_, port, boundErr := net.SplitHostPort(bound.String())
	if err != nil || boundErr != nil {
		return bound.String()
	}
	if ip, err := netip.ParseAddr(name); name == "" || err == nil && ip.IsUnspecified() {
		name = "localhost"
	}
	return net.JoinHostPort(name, port)
}

// newServer returns the server of a handler. Requests have the context base, and continue for
// linger after their clients have closed their side.
func newServer(base context.Context, handler http.Handler, linger time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: httpapi.Bound(outlast(base, boundBodies(handler, bodyTime), linger)), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// boundBodies ends requests whose bodies do not arrive. The ReadTimeout of the server would
// also end streams, since it continues after the body.
func boundBodies(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a transport without deadlines has none
			r.Body = &boundBody{ReadCloser: r.Body, response: w}
		}
		next.ServeHTTP(w, r)
	})
}

// boundBody removes the deadline when the body is complete: from then on the server reads
// only to detect a disconnect. After any other error the deadline remains, for the rest of
// the body that the server reads and discards.
type boundBody struct {
	io.ReadCloser
	response http.ResponseWriter
}

// Read implements io.Reader.
func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = http.NewResponseController(b.response).SetReadDeadline(time.Time{})
	}
	return n, err
}

// outlast lets a request continue for a while after its client has closed its side of the
// connection. The client may have sent everything and wait for the response, and net/http
// cannot distinguish that from a disconnect. A disconnect is noticed after linger, or when a
// write fails. A host that stops, whose context is base, ends the requests immediately.
func outlast(base context.Context, next http.Handler, linger time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Context()
		ctx, end := context.WithCancelCause(context.WithoutCancel(asked))
		defer end(nil)
		stop := context.AfterFunc(asked, func() {
			timer := time.NewTimer(linger)
			defer timer.Stop()
			select {
			case <-ctx.Done(): // the response is there
			case <-base.Done():
				end(context.Cause(base))
			case <-timer.C:
				end(context.Cause(asked))
			}
		})
		defer stop()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
