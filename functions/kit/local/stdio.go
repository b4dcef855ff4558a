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

// Conversation is what a protocol over standard input and output is spoken with.
type Conversation struct {
	In       io.Reader
	Out      io.Writer
	Runtime  *host.Host
	Identity core.Identity // everything here is on its behalf
	// Kinds are what tools do, by their names; "read" for those that change nothing.
	// What is not known is absent.
	Kinds map[string]string
	Log   *slog.Logger
}

// Stdio runs the local host without its address, for the program that has started it:
// it speaks on standard input and output until the client closes its side or a signal
// comes. Nothing else is written to standard output; the log goes to standard error.
// The host has the file of REVEILLE_DATA for itself, as with [Main]. speak speaks with the
// client until it has gone or ctx is done.
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
	s.Addr = "" // nobody listens
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	collectRarely(environ)
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
		log.Error("the host ends", "error", broken)
		h.rest()
		end(broken)
		<-spoken
		return broken
	}
	log.Info(stopping(h.runtime.Stats().Working, 0))
	return err
}

// kinds are those of the tools that say of themselves that they change nothing.
func kinds(parts agent.Parts) map[string]string {
	all := map[string]string{}
	for _, t := range parts.Tools {
		if spec := t.Spec(); spec.ReadOnly {
			all[spec.Name] = "read"
		}
	}
	return all
}
