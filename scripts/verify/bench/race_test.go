package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARoundIsReadFromWhatItPrints(t *testing.T) {
	tests := []struct {
		name, text string
		want       result
		fails      bool
	}{
		{"go test", "goos: linux\nBenchmarkRuns/clients=1-2 \t 500\t 1632310 ns/op\t 612.6 runs/s\t 8.028 syncs/run\nPASS\n", result{runs: 612.6, syncs: 8.028}, false},
		{"the peer", "585 runs/s 5.00 syncs/run\n", result{runs: 585, syncs: 5}, false},
		{"no syncs", "585 runs/s\n", result{}, true},
		{"nothing", "", result{}, true},
	}
	for _, tt := range tests {
		if got, err := parseRound([]byte(tt.text)); (err != nil) != tt.fails || !tt.fails && got != tt.want {
			t.Errorf("%s: parseRound returns %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestTheRaceIsPrintedByClients(t *testing.T) {
	var out bytes.Buffer
	printRace(&out, []contender{{name: "ours"}, {name: "theirs"}}, []map[int]result{{1: {600, 8, 1250}, 16: {2500, 1.05, 700}}, {1: {580, 5, 2100}, 16: {590, 5, 2000}}})
	want := `runs of two steps, best of 3            clients   runs/s  syncs/run cpu us/run
ours                                          1      600       8.00       1250
theirs                                        1      580       5.00       2100
ours                                         16     2500       1.05        700
theirs                                       16      590       5.00       2000
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPeerThatCannotBeBuiltIsLeftOutWithOneSentence(t *testing.T) {
	got := leftOut([]byte("\ngo: google.golang.org/adk/v2@v2.2.0: no network\nmore\n"))
	if want := "adk-go is skipped, since its module cannot be built: go: google.golang.org/adk/v2@v2.2.0: no network"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheBestOfTwoRounds(t *testing.T) {
	first := result{}.better(result{600, 8, 1300})
	if got, want := first.better(result{500, 8.1, 1200}), (result{600, 8, 1200}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := first.better(result{700, 8.1, 1400}), (result{700, 8.1, 1300}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
