package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the command line's.
type options struct {
	kills   int
	threads int
	seed    uint64
	pace    time.Duration
	target  string
	keep    bool
}

func main() {
	var o options
	flag.IntVar(&o.kills, "kills", 60, "number of signals that end the host")
	flag.IntVar(&o.threads, "threads", 50, "number of concurrent threads")
	flag.Uint64Var(&o.seed, "seed", 0, "random seed; 0: a new one")
	flag.DurationVar(&o.pace, "pace", time.Second, "mean time between two requests of a thread's client")
	flag.StringVar(&o.target, "host", "./scripts/user/demo", "`package` of the host")
	flag.BoolVar(&o.keep, "keep", false, "keep the files of the host even without violations")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || found > 0 {
		os.Exit(1)
	}
}

// run returns the number of violations.
func run(ctx context.Context, o options) (int, error) {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	folder, err := os.MkdirTemp("", "reveille-soak")
	if err != nil {
		return 0, fmt.Errorf("make a folder: %w", err)
	}
	binary := filepath.Join(folder, "host")
	build := exec.CommandContext(ctx, "go", "build", "-tags", "killpoints", "-o", binary, o.target)
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the host: %w\n%s", err, out)
	}
	h, err := newHost(binary, folder)
	if err != nil {
		return 0, err
	}
	s := newSoak(h, o)
	fmt.Printf("soak: seed=%d kills=%d threads=%d\n", o.seed, o.kills, o.threads)
	began := time.Now()
	s.run(ctx)
	s.summary(time.Since(began))
	if ctx.Err() != nil {
		return len(s.found), errors.New("interrupted")
	}
	if missing := s.tally.missing(); o.kills >= chapter && len(missing) > 0 {
		return len(s.found), fmt.Errorf("these cases did not occur: %s", strings.Join(missing, ", "))
	}
	if len(s.found) > 0 || o.keep {
		fmt.Fprintln(os.Stderr, "soak: the host's files are in", folder)
		return len(s.found), nil
	}
	return 0, os.RemoveAll(folder)
}
