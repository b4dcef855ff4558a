// Command peer does with adk-go what the benchmarks of the local host do, and prints its
// metrics as they do: "512 runs/s 430 cpu-µs/run". It serves adk-go's REST API on a local
// port and is its own client. Its first argument names the measure: runs, a long session, the
// first turn of a session that is only on disk, sessions in memory, or many streams.
// It is a separate module, so that no other program links its dependencies.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// measures are what can be measured, each with flags of one set.
var measures = map[string]func(ctx context.Context, o options) error{
	"runs": runs, "long": long, "cold": cold, "resident": resident, "streams": streams,
}

// options are the flags: the number of each thing that a measure has.
type options struct {
	file                    string // of SQLite; empty: sessions are in memory
	clients, runs, messages int
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || measures[args[0]] == nil {
		known := make([]string, 0, len(measures))
		for name := range measures {
			known = append(known, name)
		}
		slices.Sort(known)
		return fmt.Errorf("arguments %q do not begin with one of %s", args, strings.Join(known, ", "))
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.file, "file", "", "SQLite's file; empty: sessions are in memory")
	flags.IntVar(&o.clients, "clients", 1, "clients that run one run after another, or streams at a time")
	flags.IntVar(&o.runs, "runs", 1000, "runs, or sessions")
	flags.IntVar(&o.messages, "messages", 0, "messages that the session has before")
	percent := flags.Int("gc", 100, "the collector's setting, as GOGC")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	debug.SetGCPercent(*percent)
	return measures[args[0]](ctx, o)
}
