package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interval is the time between two looks at the tree. Each takes one or two milliseconds for
// a thousand files.
const interval = 250 * time.Millisecond

func main() {
	output := flag.String("o", ".reveille/reloaded", "`path` of the binary")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: reload [-o PATH] PACKAGE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	r := &reloader{folder: ".", target: flag.Arg(0), binary: *output, log: os.Stderr, environ: os.Environ(), agents: os.Getenv("REVEILLE_AGENTS")}
	if err := r.run(context.Background(), signals, interval); err != nil {
		fmt.Fprintln(os.Stderr, "reload:", err)
		os.Exit(1)
	}
}
