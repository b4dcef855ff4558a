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

// What a connection may take. A client on this machine needs little of it; one that
// stopped in the middle must not hold its connection for ever. Responses are bounded by
// httpapi.Bound, streams by the writer of their frames.
const (
	headerTime = 10 * time.Second // for a request's line and headers
	bodyTime   = 30 * time.Second // for its body
	idleTime   = 2 * time.Minute  // between two requests
	lingerTime = 10 * time.Second // for the response to a client that has closed its side, see outlast
	maxHeader  = 64 << 10         // bytes of a request's line and headers; net/http adds 4 KB
)

// bind takes the address. It comes before everything else, so that a second host
// at the same address ends before it touches the store of the first.
func bind(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program, maybe another local host, listens at %s: end it, or set REVEILLE_ADDR to another address", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on REVEILLE_ADDR: %w", err)
	}
	return listener, nil
}

// reachable is REVEILLE_ADDR as clients write it: with the port that was bound, and
// with localhost where it means every address of this machine.
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

// newServer returns the server of a handler. Requests have the context base, and go on for
// linger when their clients have closed their side.
func newServer(base context.Context, handler http.Handler, linger time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: httpapi.Bound(outlast(base, boundBodies(handler, bodyTime), linger)), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// boundBodies ends bodies that do not arrive. The server's own ReadTimeout would
// end streams too, since it goes on after the body.
func boundBodies(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // a transport without deadlines has none
			r.Body = &boundBody{ReadCloser: r.Body, response: w}
		}
		next.ServeHTTP(w, r)
	})
}

// boundBody takes the deadline back when the body is whole: from then on the
// server reads only to see whether the client is still there. After any other
// error the deadline stands, for what the server reads of a body that nobody wants.
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

// outlast lets requests go on for a while when their client has closed its side of the
// connection: it may have said all that it has to say and wait for the response, which
// net/http cannot tell from one that has gone. Who has gone is noticed when that time is
// over, or when what is written cannot be delivered. A host that stops, whose context is
// base, ends them at once.
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
