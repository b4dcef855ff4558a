// Command bench measures the cost of a run in the core, best of ten, and prints it next to the
// goal. It lists where time and memory are spent. Then it compares the number of durable runs
// in a second with that of adk-go (see race; the command peer is a separate module). The
// garbage collector has the settings of the functions, or GOGC if it is set. Nothing passes or
// fails here: tests assert the figures that hold on every machine, such as objects and bytes.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// limit is the time that a benchmark may take: microseconds, or so many times what
// another one takes.
type limit struct {
	micros float64
	times  float64
	of     string
}

var limits = map[string]limit{
	"TwoStep":                      {micros: 100},
	"InterruptResume/history-100":  {micros: 400},
	"InterruptResume/history-1000": {times: 2, of: "InterruptResume/history-100"},
}

// best is the best of all measurements of a benchmark.
type best struct {
	name           string
	micros         float64
	bytes, objects int
}

func run(out io.Writer) error {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	at := func(name string) string { return filepath.Join(folder, name) }
	text, err := measure("-count", "10", "-benchmem")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "GOGC=%s\n", percentage())
	if err := report(out, text); err != nil {
		return err
	}
	// Apart: to take the profiles costs time, too.
	if _, err := measure("-cpuprofile", at("cpu"), "-memprofile", at("memory"), "-o", at("run.test")); err != nil {
		return err
	}
	for _, profile := range []struct{ title, file, index string }{
		{"where time goes", "cpu", "cpu"}, {"where objects are made", "memory", "alloc_objects"}, {"where bytes are made", "memory", "alloc_space"},
	} {
		top, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount", "12", "-sample_index", profile.index, at("run.test"), at(profile.file)).Output()
		if err != nil {
			return fmt.Errorf("go tool pprof: %w", err)
		}
		_, lines, _ := bytes.Cut(top, []byte("\n      flat"))
		_, _ = fmt.Fprintf(out, "\n%s:\n      flat%s", profile.title, lines)
	}
	_, _ = fmt.Fprintln(out)
	return race(out, folder)
}

// measure runs the benchmarks on two cores and returns what go test printed.
func measure(flags ...string) ([]byte, error) {
	args := append([]string{"test", "-run", "^$", "-bench", "^Benchmark(TwoStep|InterruptResume)", "-cpu", "2"}, flags...)
	test := exec.Command("go", append(args, "./core/internal/run")...)
	test.Stderr = os.Stderr
	test.Env = append(os.Environ(), "GOGC="+percentage())
	text, err := test.Output()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, text)
	}
	return text, nil
}

// functionsGC is the collector's setting in functions, as in functions/kit/internal/cloud.
const functionsGC = "400"

// percentage is the collector's setting: from the environment, or else as in a function.
func percentage() string { return cmp.Or(os.Getenv("GOGC"), functionsGC) }

// report prints the best of each benchmark next to its limit.
func report(out io.Writer, text []byte) error {
	all, err := parse(text)
	if err != nil {
		return err
	}
	known := map[string]best{}
	for _, b := range all {
		known[b.name] = b
	}
	_, _ = fmt.Fprintf(out, "%-32s %10s %10s %10s %10s\n", "best of 10", "us", "wanted", "bytes", "objects")
	for _, b := range all {
		wanted := "-"
		if l, ok := limits[b.name]; ok {
			wanted = fmt.Sprintf("%.0f", cmp.Or(l.micros, l.times*known[l.of].micros))
		}
		_, _ = fmt.Fprintf(out, "%-32s %10.1f %10s %10d %10d\n", b.name, b.micros, wanted, b.bytes, b.objects)
	}
	return nil
}

// parse reads the lines of go test: "BenchmarkName-2  100  123 ns/op  45 B/op  6 allocs/op".
func parse(text []byte) ([]best, error) {
	var all []best
	index := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-2")
		nanos, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		size, err := strconv.Atoi(fields[4])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		objects, err := strconv.Atoi(fields[6])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		b := best{name, nanos / 1000, size, objects}
		i, seen := index[name]
		if !seen {
			index[name] = len(all)
			all = append(all, b)
		} else if b.micros < all[i].micros {
			all[i] = b
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no benchmark in %q", text)
	}
	return all, lines.Err()
}
