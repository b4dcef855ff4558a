package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.streams, "streams", 500, "number of concurrent streams")
	flag.IntVar(&o.words, "words", 50, "words of each stream, ten a second, 1 to 600")
	flag.IntVar(&o.idle, "idle", 2000, "number of idle followers")
	flag.DurationVar(&o.watch, "watch", 30*time.Second, "time during which the followers are measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// options are the command line's.
type options struct {
	streams, words, idle int
	watch                time.Duration
}

// run starts a host, measures and stops it.
func run(ctx context.Context, o options) error {
	if o.streams < 1 || o.words < 1 || o.words > 600 || o.idle < 0 || o.watch <= 0 {
		return errors.New("at least one stream, 1 to 600 words, no followers or some, and a time to watch them")
	}
	folder, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "host")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./scripts/user/demo")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the host, in the module's folder: %w", err)
	}
	h, err := startHost(ctx, binary, folder)
	if err != nil {
		return err
	}
	err = measure(ctx, newClient(h.url), o)
	return errors.Join(err, h.stop())
}

// measure prints the figures; its error is the first of what went wrong.
func measure(ctx context.Context, c *client, o options) error {
	streamed, err := c.stream(ctx, o.streams, o.words)
	if err != nil {
		return err
	}
	streamed.report(os.Stdout)
	if err := streamed.err(); err != nil {
		return err
	}
	if o.idle == 0 {
		return nil
	}
	followed, err := c.follow(ctx, o.idle, o.watch)
	if err != nil {
		return err
	}
	followed.report(os.Stdout)
	return followed.err()
}
