package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/app/crash"
	"github.com/reveille-run/reveille/functions/app/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

// start runs the host until ctx is done.
func start(ctx context.Context, environ []string) error {
	s, err := settings.Read(environ, crash.Variables()...)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	e := env.System()
	e.Reach = crash.Reach(e.Reach)
	h, err := newHost(ctx, e, s, log)
	if err != nil {
		return err
	}
	defer h.close()
	listener, err := net.Listen("tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("listen on REVEILLE_ADDR: %w", err)
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "data", s.Data)
	return serve(ctx, listener, h.handler)
}

// shutdownTime is how long open requests may finish after a signal.
const shutdownTime = 10 * time.Second

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
