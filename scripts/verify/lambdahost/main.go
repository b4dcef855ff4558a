package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lambdahost:", err)
		os.Exit(1)
	}
}

// run returns when ctx ends, a front end breaks, or the one event was handled. The
// response to that goes to out, everything else to output.
func run(ctx context.Context, args, environ []string, out, output io.Writer) error {
	c, err := parse(args, environ, output)
	if err != nil {
		return err
	}
	if c.scratch {
		if c.environ, err = scratch(ctx, c.environ); err != nil {
			return err
		}
		for i := range c.functions {
			c.functions[i].Env = c.environ
		}
	}
	log := slog.New(slog.NewTextHandler(output, &slog.HandlerOptions{Level: c.level()}))
	h, err := host.New(host.Options{Logger: log, Output: output}, c.functions...)
	if err != nil {
		return err
	}
	defer func() {
		_ = h.Close()
		for _, s := range h.Starts() {
			fmt.Fprintf(output, "sandbox %s pid %d: init %.1f ms\n", s.Function, s.PID, float64(s.Init.Microseconds())/1000)
		}
	}()
	if c.invoke != nil {
		return c.invoke.run(ctx, h, out, output)
	}
	return c.serve(ctx, h, log)
}

// run invokes the function and prints its response, of one that streams the body; an
// error of the function is one of the command.
func (i *invocation) run(ctx context.Context, h *host.Host, out, output io.Writer) error {
	event, err := os.ReadFile(i.file)
	if err != nil {
		return err
	}
	if !json.Valid(event) {
		return fmt.Errorf("%s is not JSON", i.file)
	}
	result, err := h.Invoke(ctx, i.function, event)
	if result.Prelude != nil {
		fmt.Fprintln(output, "status", result.Prelude.StatusCode)
	}
	if len(result.Payload) > 0 {
		fmt.Fprintf(out, "%s\n", bytes.TrimSuffix(result.Payload, []byte("\n")))
	}
	return err
}

// serve runs every front end and waits for all of them; the first error ends the
// others.
func (c *config) serve(ctx context.Context, h *host.Host, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	start := func(f func(context.Context) error) {
		work.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	for _, f := range c.fronts {
		start(func(ctx context.Context) error { return f.serve(ctx, h, log) })
	}
	for _, q := range c.queues {
		queue := newQueue(c.environ, q.url)
		poller := host.Poller{Host: h, Queue: queue, Function: q.function, QueueName: q.name(), BatchSize: q.batch, RetryAfter: q.retry}
		log.Info("polling", "queue", q.url, "function", q.function)
		start(poller.Run)
	}
	for _, s := range c.schedules {
		log.Info("scheduled", "every", s.every, "function", s.function)
		start(func(ctx context.Context) error { return s.serve(ctx, h, log) })
	}
	<-ctx.Done()
	work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (f front) serve(ctx context.Context, h *host.Host, log *slog.Logger) error {
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "function", f.Function, "shape", f.Shape)
	server := &http.Server{Handler: h.Handler(f.Front), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s schedule) serve(ctx context.Context, h *host.Host, log *slog.Logger) error {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			event := fmt.Sprintf(`{"version":"0","detail-type":"Scheduled Event","source":"aws.events","time":%q,"detail":{}}`, now.UTC().Format(time.RFC3339))
			if _, err := h.Invoke(ctx, s.function, []byte(event)); err != nil && ctx.Err() == nil {
				log.Warn("scheduled invocation failed", "function", s.function, "error", err)
			}
		}
	}
}
