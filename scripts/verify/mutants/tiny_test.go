package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func tiny(t *testing.T) options {
	t.Helper()
	root, err := filepath.Abs("testdata/tiny")
	if err != nil {
		t.Fatal(err)
	}
	return options{
		root: root, packages: []string{"counter"}, workers: 2, patience: 2 * time.Second,
		equivalent: filepath.Join(root, "equivalent.txt"), named: filepath.Join(root, "named.txt"),
		suites: map[string][]suite{"counter": {{name: "counter", long: true}, {name: "client"}, {name: "counter"}, {name: "nobody"}}},
	}
}

// TestTheFateOfEveryMutant runs all mutants of the module in testdata: each is
// killed by the tests of its package, by another package's or by those that are
// long, or survives, as expected.txt has it.
func TestTheFateOfEveryMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("builds some forty programs")
	}
	var out bytes.Buffer
	err := run(t.Context(), tiny(t), &out)
	if err == nil || err.Error() != "the score is under 95 %" {
		t.Errorf("error %v", err)
	}
	line := regexp.MustCompile(`(?m)^(killed|survived|equivalent|does-not-compile) +[0-9.]+s (.*)\n`)
	var fates []string
	for _, m := range line.FindAllStringSubmatch(out.String(), -1) {
		fates = append(fates, m[1]+" "+m[2])
	}
	slices.Sort(fates)
	got := strings.Join(fates, "\n") + "\n---\n" + line.ReplaceAllString(out.String(), "")
	golden := "testdata/expected.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEquivalentsAreTriedWhenAsked: the entry for Either survives its tests, but
// one of each list matches nothing.
func TestEquivalentsAreTriedWhenAsked(t *testing.T) {
	o := tiny(t)
	o.equivalents = true
	var out bytes.Buffer
	err := run(t.Context(), o, &out)
	if want := "equivalent.txt lists mutants that a test kills, or a list has some that do not exist"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if want := "\nequivalent=1 killed=0 stale=2\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s\nwant it to end with %s", out.String(), want)
	}
}

// A large package must not hide a small one; of one with few mutants chance decides.
func TestEachPackageHasAScoreOfItsOwn(t *testing.T) {
	var out bytes.Buffer
	s := score{out: &out, count: map[verdict]int{killed: 1023, survived: 4}, each: map[string]map[verdict]int{
		"large": {killed: 987}, "small": {killed: 54, survived: 6}, "tiny": {killed: 53, survived: 6, equivalent: 5}, "none": {equivalent: 1},
	}}
	err := s.finish(0)
	if want := "the score of small is under 95 %"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	want := `
large: killed=987 survived=0 score=100.0%
none: killed=0 survived=0 score=0.0%
small: killed=54 survived=6 score=90.0%
tiny: killed=53 survived=6 score=89.8%

mutants=1027 killed=1023 survived=4 equivalent=0 score=99.6%
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNamedMutantsAreThoseOfThePackagesThatAreAskedFor(t *testing.T) {
	for narrow, want := range map[bool]int{false: 1, true: 0} {
		o := tiny(t)
		o.packages, o.narrow = []string{"client"}, narrow
		p, err := newPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, m := range p.chosen {
			if m.named {
				named++
			}
		}
		if named != want {
			t.Errorf("narrow %v: %d named mutants, want %d", narrow, named, want)
		}
	}
}

func TestASampleKeepsItsMutants(t *testing.T) {
	places := func(seed uint64, n int) (found []string) {
		o := tiny(t)
		o.seed, o.count = seed, n
		p, err := newPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.chosen {
			if !m.named {
				found = append(found, m.String())
			}
		}
		return found
	}
	few, more, other := places(1, 5), places(1, 8), places(2, 5)
	if len(few) != 5 || len(more) != 8 {
		t.Fatalf("samples of %d and %d mutants, want 5 and 8", len(few), len(more))
	}
	if diff := cmp.Diff(few, more[:5]); diff != "" {
		t.Errorf("a larger sample has others (-5 +8):\n%s", diff)
	}
	if slices.Equal(few, other) {
		t.Error("another seed draws the same sample")
	}
}

func TestOnlyNarrowsToAPlace(t *testing.T) {
	tests := []struct {
		only string
		want int
	}{
		{"counter/counter.go:Kind", 6},
		{"counter/counter.go:(*Counter).Add", 8},
		{"counter/counter.go:Add", 8},
		{"counter/counter.go:8", 2},
		{"counter/counter.go:Kind,counter/counter.go:Add", 14},
		{"counter/other.go", 0},
	}
	for _, tt := range tests {
		o := tiny(t)
		o.only = tt.only
		p, err := newPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.chosen) != tt.want {
			t.Errorf("%s: %d mutants, want %d", tt.only, len(p.chosen), tt.want)
		}
	}
}
