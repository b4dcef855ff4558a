package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Main runs the local host with the agents, models and protocols of a deployment until a
// signal ends it.
func Main(parts wiring.Parts, models wiring.Models, web wiring.Web) {
	if err := start(untilSignal(), os.Environ(), wiring.Deployment{Parts: parts, Models: models, Web: web}); err != nil {
		fmt.Fprintln(os.Stderr, "dev:", firstLine(err))
		os.Exit(1)
	}
}

// untilSignal returns a context that the first signal ends. The second signal ends the
// process immediately, since the host no longer handles signals.
func untilSignal() context.Context {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		end()
	}()
	return ctx
}

// firstLine returns the text of an error for a user. If there are several, such as one for
// each part of a damaged file, it returns the first one and their number.
func firstLine(err error) string {
	line, rest, more := strings.Cut(err.Error(), "\n")
	if !more {
		return line
	}
	return fmt.Sprintf("%s (and %d more)", line, 1+strings.Count(rest, "\n"))
}

// none is the only value of REVEILLE_AUTH that this host supports: all callers are one
// anonymous user.
const none = "none"

// checkIdentity refuses variables that have an effect on AWS only.
func checkIdentity(s settings.Settings) error {
	if s.Auth != "" && s.Auth != none {
		return fmt.Errorf("environment variable REVEILLE_AUTH is %q, allowed on the local host: %s", s.Auth, none)
	}
	for _, name := range s.Identity.Given() {
		if name != "REVEILLE_TENANT" {
			return fmt.Errorf("environment variable %s applies to AWS only, unset it: the local host does not authenticate callers", name)
		}
	}
	return nil
}

// checkAuth also refuses an address that other machines can reach, unless REVEILLE_AUTH
// allows it: the host does not authenticate callers.
func checkAuth(s settings.Settings) error {
	if err := checkIdentity(s); err != nil {
		return err
	}
	name, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("environment variable REVEILLE_ADDR is %q, allowed: host:port", s.Addr)
	}
	ip, err := netip.ParseAddr(name)
	local := name == "localhost" || err == nil && ip.IsLoopback()
	if !local && s.Auth != none {
		return fmt.Errorf("REVEILLE_ADDR %s is open to other machines, and the local host does not authenticate callers: set REVEILLE_AUTH=%s to allow this, and REVEILLE_HOSTS to the names that clients use", s.Addr, none)
	}
	return nil
}

// start runs the host until ctx is done.
func start(ctx context.Context, environ []string, d wiring.Deployment) error {
	s, err := settings.Read(environ, killpoints.Variables()...)
	if err == nil {
		err = checkAuth(s)
	}
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	listener, err := bind(s.Addr)
	if err != nil {
		return err
	}
	defer listener.Close() // a second time if the server ran
	s.Addr = reachable(s.Addr, listener.Addr())
	s.CacheSize = cacheSize(s.CacheSize, collectRarely(environ))
	e := env.System()
	e.Reach = killpoints.Reach(e.Reach)
	h, err := newHost(ctx, e, s, log, d)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // a signal came first
		log.Info(stopping(0, 0))
		return nil
	}
	if err != nil {
		return err
	}
	defer h.shutDown()
	return serve(ctx, listener, h, shutdownTime)
}

const (
	// shutdownTime is the time that open requests have after a signal.
	shutdownTime = 5 * time.Second
	// lastWords is the time that the remaining requests then have to end.
	lastWords = 3 * time.Second
)

// serve handles requests until ctx is done, or until the file of the host is unusable, which
// it returns as an error. Streams that outlast the grace end with an event: their run
// continues at the next start.
func serve(ctx context.Context, listener net.Listener, h *localHost, grace time.Duration) error {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := newServer(host.ForHost(requests), h.handler, h.linger, h.log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case err := <-h.broken:
		h.log.Error("host ends", "error", err)
		h.rest()
		end(host.ErrStopping)
		_ = shutdown(server, lastWords) // the error is logged
		_ = server.Close()
		return err
	case <-ctx.Done():
	}
	h.log.Info(stopping(h.runtime.Stats().Working, int(h.open.Load())))
	err := shutdown(server, grace)
	if errors.Is(err, context.DeadlineExceeded) {
		h.rest() // so that no worker continues a run that its stream releases
		end(host.ErrStopping)
		err = shutdown(server, lastWords)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("end open requests: %w", err), server.Close())
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func shutdown(server *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return server.Shutdown(ctx)
}
