package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figures are measured values by name: a benchmark or test, a space, and the unit, such as
// "HostRuns/memory/clients=16 cpu-ms/run".
type figures map[string]float64

// add keeps the better of two measurements of the same figure: the least, or the most of
// what is counted by the second.
func (f figures) add(next figures) {
	for name, value := range next {
		if before, seen := f[name]; !seen {
			f[name] = value
		} else if strings.HasSuffix(name, "/s") {
			f[name] = max(before, value)
		} else {
			f[name] = min(before, value)
		}
	}
}

var (
	benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	testLine      = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)$`)
	loggedLine    = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)$`)
	metric        = regexp.MustCompile(`([0-9.]+(?:e[+-]?[0-9]+)?)\s+([^\s,]+)`)
)

// shown are the units of the table for those of benchmarks and tests.
var shown = map[string]struct {
	unit string
	per  float64
}{"ns/op": {"ms", 1e6}, "cpu-µs/run": {"cpu-ms/run", 1000}, "B/op": {"KB", 1000}, "bytes": {"KB", 1000}, "allocs/op": {"objects", 1}}

// parse reads the metrics that benchmarks print, "BenchmarkName-2  100  123 ns/op  6 allocs/op",
// and those that tests log, "412 objects and 60000 bytes a run". A line with neither is a
// metric of prefix, such as the peer's.
func parse(prefix, text string) (figures, error) {
	found, test := figures{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		name, rest := prefix, ""
		if m := benchmarkLine.FindStringSubmatch(line); m != nil {
			name, rest = m[1], m[2]
		} else if m := testLine.FindStringSubmatch(line); m != nil {
			test = m[1]
		} else if m := loggedLine.FindStringSubmatch(line); m != nil {
			name, rest = test, m[1]
		} else if prefix != "" {
			rest = line
		}
		for _, m := range metric.FindAllStringSubmatch(rest, -1) {
			value, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			unit := m[2]
			if c, ok := shown[unit]; ok {
				unit, value = c.unit, value/c.per
			}
			found[name+" "+unit] = value
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no figure in %q", text)
	}
	return found, nil
}

// pick returns the rows whose groups match.
func pick(all []row, only string) ([]row, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only %q: %w", only, err)
	}
	picked := slices.DeleteFunc(slices.Clone(all), func(r row) bool { return !pattern.MatchString(r.group) })
	if len(picked) == 0 {
		return nil, fmt.Errorf("-only %q matches no group; there are %s", only, strings.Join(groups(all), ", "))
	}
	return picked, nil
}

// groups are those of the rows, in their order.
func groups(all []row) (names []string) {
	for _, r := range all {
		if !slices.Contains(names, r.group) {
			names = append(names, r.group)
		}
	}
	return names
}
