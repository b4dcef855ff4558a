// Command bench measures the runtime and adk-go 2.2.0 in one go, and prints one table: what
// was measured, ours, adk-go's, the goal, and whether it is met. Every figure has its source
// in a benchmark, a test, or infra/cost.json, which make cost measures; the table in goals.go
// names them. Both programs do the same work in turn, with the same settings of the garbage
// collector: those of the local host, or GOGC if it is set. The best of several rounds counts.
//
// Times depend on the machine and on its other work: a missed goal is printed and nothing
// fails. With -strict, the command ends with status 1 when a goal is missed or has no figure.
// With -only, it measures the groups of that name, such as memory. With -profile, it also lists
// where a run in the core spends time and memory.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	strict := flag.Bool("strict", false, "end with status 1 if a goal is missed or could not be measured")
	only := flag.String("only", "", "regular expression of the groups to measure; empty: all")
	profile := flag.Bool("profile", false, "also list where a run in the core spends time and memory")
	flag.Parse()
	if err := run(os.Stdout, *only, *strict, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, only string, strict, profile bool) error {
	began := time.Now()
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	table, err := pick(rows, only)
	if err != nil {
		return err
	}
	if profile {
		if err := profiles(out, folder); err != nil {
			return err
		}
	}
	measured, err := measure(out, folder, table)
	if err != nil {
		return err
	}
	missed := printTable(out, table, measured)
	_, _ = fmt.Fprintf(out, "GOGC=%s for both. Measured in %.0f s.\n", percentage(), time.Since(began).Seconds())
	if strict && missed > 0 {
		return fmt.Errorf("%d goals are missed or could not be measured", missed)
	}
	return nil
}

// hostGC is the collector's setting in the local host, as in functions/kit/local.
const hostGC = "200"

// percentage is the collector's setting: from the environment, or else as in the local host.
func percentage() string { return cmp.Or(os.Getenv("GOGC"), hostGC) }
