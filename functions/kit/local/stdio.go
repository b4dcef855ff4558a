package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Conversation has the parts that a protocol over standard input and output needs.
type Conversation struct {
	In       io.Reader
	Out      io.Writer
	Runtime  *host.Host
	Identity core.Identity // the identity of all requests
	// Kinds has the kinds of tools by name: "read" for a tool that changes nothing. Tools of
	// an unknown kind are absent.
	Kinds map[string]string
	Log   *slog.Logger
}

// Stdio runs the local host without an address, for the program that started it. It uses
// standard input and output until the client closes its side or a signal arrives. Nothing
// else is written to standard output: the log goes to standard error. The host locks the
// file of REVEILLE_DATA, as [Main] does. speak serves the client until the client has gone
// or ctx is done.
func Stdio(name string, parts wiring.Parts, models wiring.Models, speak func(ctx context.Context, c Conversation) error) {
	signal.Ignore(syscall.SIGPIPE) // a client that is gone is an error of the write, and ends the host in order
	if err := converse(untilSignal(), os.Environ(), os.Stdin, os.Stdout, wiring.Deployment{Parts: parts, Models: models}, speak); err != nil {
		fmt.Fprintln(os.Stderr, name+":", firstLine(err))
		os.Exit(1)
	}
}

func converse(ctx context.Context, environ []string, in io.Reader, out io.Writer, d wiring.Deployment, speak func(context.Context, Conversation) error) error {
	s, err := settings.Read(environ, killpoints.Variables()...)
	if err == nil {
		err = checkIdentity(s)
	}
	if err != nil {
		return err
	}
	s.Addr = "" // it does not listen
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel}))
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
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	spoken := make(chan error, 1)
	go func() {
		spoken <- speak(ctx, Conversation{
			In: in, Out: out, Runtime: h.runtime, Identity: core.Identity{Tenant: tenant(s)}, Kinds: h.kinds, Log: log,
		})
	}()
	select {
	case err = <-spoken:
	case broken := <-h.broken:
		log.Error("host ends", "error", broken)
		h.rest()
		end(broken)
		<-spoken
		return broken
	}
	log.Info(stopping(h.runtime.Stats().Working, 0))
	return err
}

// kinds returns the kind "read" for each read-only tool.
func kinds(parts agent.Parts) map[string]string {
	all := map[string]string{}
	for _, t := range parts.Tools {
		if spec := t.Spec(); spec.ReadOnly {
			all[spec.Name] = "read"
		}
	}
	return all
}
