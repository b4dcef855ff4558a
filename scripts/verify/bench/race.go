package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// contender is a program that runs runs of two steps for one client or several, each run
// on a separate thread in a file that is synced.
type contender struct {
	name string
	args func(clients int) []string // of its program, the first one
	dir  string                     // where it runs; empty: here
}

// result is the best of a contender's rounds with a number of clients: runs a second, syncs
// a run, and microseconds of processor time a run. The last one depends least on other work
// of the machine; it includes the start of the program.
type result struct{ runs, syncs, micros float64 }

const rounds = 3

// raceClients are how many clients there are at a time.
var raceClients = []int{1, 16}

// race runs in turn the local host, the runtime in a separate process, and adk-go with
// SQLite, and prints the best round of each. A client of the local host uses HTTP; the other
// two are called in their processes. Each program counts its own syncs: bbolt's transactions
// times two, and SQLite's transactions that write.
func race(out io.Writer, folder string) error {
	var all []contender
	for _, c := range []struct{ name, folder, bench string }{
		{"local host over HTTP, bbolt", "./functions/kit/local", "HostRuns/bolt"},
		{"runtime in its process, bbolt", "./adapters/stores/bolt", "Runs"},
	} {
		program := filepath.Join(folder, filepath.Base(c.folder)+".test")
		if text, err := exec.Command("go", "test", "-c", "-o", program, c.folder).CombinedOutput(); err != nil {
			return fmt.Errorf("go test -c %s: %w\n%s", c.folder, err, text)
		}
		all = append(all, contender{c.name, func(clients int) []string {
			return []string{program, "-test.run", "^$", "-test.bench", fmt.Sprintf("^Benchmark%s/clients=%d$", c.bench, clients), "-test.benchtime", fmt.Sprint(raceRuns(clients), "x")}
		}, c.folder})
	}
	peer := filepath.Join(folder, "peer")
	build := exec.Command("go", "build", "-C", "scripts/verify/bench/peer", "-o", peer, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		_, _ = fmt.Fprintln(out, leftOut(text))
	} else {
		all = append(all, contender{"adk-go v2.2.0 in its process, SQLite", func(clients int) []string {
			return []string{peer, "-clients", strconv.Itoa(clients), "-runs", strconv.Itoa(raceRuns(clients))}
		}, ""})
	}
	results := make([]map[int]result, len(all))
	for round := range rounds {
		for i, c := range all {
			if round == 0 {
				results[i] = map[int]result{}
			}
			for _, clients := range raceClients {
				r, err := c.run(clients)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				results[i][clients] = results[i][clients].better(r)
			}
		}
	}
	printRace(out, all, results)
	return nil
}

// better returns the faster of two rounds, with the lesser processor time of the two.
func (r result) better(next result) result {
	micros := next.micros
	if r.micros > 0 {
		micros = min(r.micros, next.micros)
	}
	if next.runs > r.runs {
		r = next
	}
	r.micros = micros
	return r
}

// raceRuns is how many runs a round has.
func raceRuns(clients int) int {
	if clients == 1 {
		return 500
	}
	return 2000
}

func printRace(out io.Writer, all []contender, results []map[int]result) {
	_, _ = fmt.Fprintf(out, "%-38s %8s %8s %10s %10s\n", fmt.Sprintf("runs of two steps, best of %d", rounds), "clients", "runs/s", "syncs/run", "cpu us/run")
	for _, clients := range raceClients {
		for i, c := range all {
			r := results[i][clients]
			_, _ = fmt.Fprintf(out, "%-38s %8d %8.0f %10.2f %10.0f\n", c.name, clients, r.runs, r.syncs, r.micros)
		}
	}
}

// leftOut says why adk-go does not run: most often its modules cannot be fetched.
func leftOut(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("adk-go is skipped, since its module cannot be built: %s", line)
}

// run runs a round and reads what it prints.
func (c contender) run(clients int) (result, error) {
	args := c.args(clients)
	program := exec.Command(args[0], args[1:]...)
	program.Dir = c.dir
	text, err := program.CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, text)
	}
	r, err := parseRound(text)
	used := program.ProcessState.UserTime() + program.ProcessState.SystemTime()
	r.micros = float64(used.Microseconds()) / float64(raceRuns(clients))
	return r, err
}

var runsPattern, syncsPattern = regexp.MustCompile(`([0-9.]+) runs/s`), regexp.MustCompile(`([0-9.]+) syncs/run`)

// parseRound reads "512 runs/s" and "8.01 syncs/run" somewhere in a text.
func parseRound(text []byte) (r result, err error) {
	for pattern, figure := range map[*regexp.Regexp]*float64{runsPattern: &r.runs, syncsPattern: &r.syncs} {
		found := pattern.FindSubmatch(text)
		if found == nil {
			return r, fmt.Errorf("no %s in %q", pattern, text)
		}
		if *figure, err = strconv.ParseFloat(string(found[1]), 64); err != nil {
			return r, err
		}
	}
	return r, nil
}
