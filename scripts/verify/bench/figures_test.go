package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiguresAreReadFromWhatPrograms(t *testing.T) {
	tests := []struct {
		name, prefix, text string
		want               figures
	}{
		{"benchmarks", "", "goos: linux\nBenchmarkHostRuns/bolt/clients=16-2 \t 500\t 1632310 ns/op\t 508.5 cpu-µs/run\t 612.6 runs/s\t 8.028 syncs/run\nPASS\n", figures{
			"HostRuns/bolt/clients=16 ms": 1.63231, "HostRuns/bolt/clients=16 cpu-ms/run": .5085, "HostRuns/bolt/clients=16 runs/s": 612.6, "HostRuns/bolt/clients=16 syncs/run": 8.028,
		}},
		{"objects", "", "BenchmarkTwoStep-2  5425  120000 ns/op  64000 B/op  394 allocs/op\n", figures{"TwoStep ms": .12, "TwoStep KB": 64, "TwoStep objects": 394}},
		{"tests", "", "=== RUN   TestA\n    a_test.go:45: 412 objects and 61000 bytes a run\n--- PASS: TestA (0.01s)\n=== RUN   TestB\n    b_test.go:1: 3 objects a run\n", figures{"TestA objects": 412, "TestA KB": 61, "TestB objects": 3}},
		{"the peer", "runs/memory/clients=1", "585 runs/s 430.0 cpu-µs/run 5.00 syncs/run\n", figures{"runs/memory/clients=1 runs/s": 585, "runs/memory/clients=1 cpu-ms/run": .43, "runs/memory/clients=1 syncs/run": 5}},
		{"a small one", "x", "1e-05 ms\n", figures{"x ms": 1e-5}},
	}
	for _, tt := range tests {
		got, err := parse(tt.prefix, tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestATextWithoutFiguresIsRefused(t *testing.T) {
	for _, text := range []string{"", "PASS\n", "BenchmarkTwoStep-2 1 x ns/op\n", "585 runs/s\n"} {
		if got, err := parse("", text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
	if got, err := parse("x", "1.2.3 ms\n"); err == nil {
		t.Errorf("no number gives %v", got)
	}
}

// The best of several rounds is the least, and of runs a second the most.
func TestTheBestRoundCounts(t *testing.T) {
	all := figures{}
	all.add(figures{"a ms": 3, "a runs/s": 100})
	all.add(figures{"a ms": 2, "a runs/s": 90})
	all.add(figures{"a ms": 4, "a runs/s": 110, "b ms": 1})
	if diff := cmp.Diff(figures{"a ms": 2, "a runs/s": 110, "b ms": 1}, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRowsAreChosenByGroup(t *testing.T) {
	all := []row{{group: "runs", what: "a"}, {group: "cold", what: "b"}, {group: "runs", what: "c"}}
	if got, err := pick(all, "^cold$"); err != nil || len(got) != 1 || got[0].what != "b" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := pick(all, ""); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	const want = `-only "warm" matches no group; there are runs, cold`
	if _, err := pick(all, "warm"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := pick(all, "("); err == nil {
		t.Error("a wrong pattern passes")
	}
}
