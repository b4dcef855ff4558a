package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// options of one invocation.
type options struct {
	root        string // of the module
	packages    []string
	narrow      bool // packages are not the usual ones: no other's named mutants are run
	suites      map[string][]suite
	equivalent  string // the file of mutants that behave as the program does
	named       string // the file of mutants made by hand
	count       int
	seed        uint64
	only        string // file, file:line or file:function, comma-separated
	list        bool
	equivalents bool // run those that equivalent.txt lists, and no other
	within      time.Duration
	workers     int
	patience    time.Duration // how much longer than five times its usual time a test may take
}

// defaultPackages are those whose rules a run of the runtime rests on.
const defaultPackages = "core/internal/thread,core/account,core/mailbox,core/internal/run,core/internal/run/checkpoint,core/internal/run/compaction,core/internal/run/history,core/internal/run/inference,core/internal/run/live,core/state,core/state/lattice,core/secret,core/tool,core/plugin,core/internal/engine,core/internal/stop," +
	"core/agent,core/internal/registry,core/internal/finalanswer,core/internal/toolname,core/strict,core/agent/internal/spectext,core/agent/specfile"

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func command() error {
	o := options{suites: defaultSuites, workers: runtime.GOMAXPROCS(0), patience: 20 * time.Second}
	packages := flag.String("packages", defaultPackages, "packages whose code is mutated, comma-separated")
	tests := flag.String("tests", "", "packages whose tests run for the mutants of a package, such as core/internal/run=core/internal/run,core/host+long;... (+long: without -short)")
	flag.IntVar(&o.count, "n", 300, "size of the sample; 0: all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.StringVar(&o.only, "only", "", "draw the sample only from a `file`, file:line or file:function; several are comma-separated")
	flag.BoolVar(&o.list, "list", false, "print the mutants and run none")
	flag.BoolVar(&o.equivalents, "equivalents", false, "run the mutants of equivalent.txt: none of them may die")
	flag.DurationVar(&o.within, "within", time.Hour, "start no mutant after this time; if some did not run, the command fails")
	flag.Parse()
	o.packages, o.narrow = strings.Split(*packages, ","), *packages != defaultPackages
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	o.root = filepath.Dir(strings.TrimSpace(string(root)))
	o.equivalent = filepath.Join(o.root, "scripts/verify/mutants/equivalent.txt")
	o.named = filepath.Join(o.root, "scripts/verify/mutants/named.txt")
	if *tests != "" {
		if o.suites, err = parseSuites(*tests); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return run(ctx, o, os.Stdout)
}
