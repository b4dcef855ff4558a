package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableHasOursAndAdkGosBesideTheGoal(t *testing.T) {
	table := []row{
		{what: "less than a limit", ours: "a", goal: goal{most: 12}},
		{what: "the limit itself", ours: "b", goal: goal{most: 12}},
		{what: "more than the limit", ours: "c", goal: goal{most: 12}},
		{what: "less than adk-go", ours: "a", peer: "b", goal: goal{peer: true}},
		{what: "more than adk-go", ours: "c", peer: "b", goal: goal{peer: true}},
		{what: "as much as adk-go", ours: "b", peer: "b", goal: goal{peer: true}},
		{what: "more than a limit, less than adk-go", ours: "b", peer: "c", goal: goal{most: 10, peer: true}},
		{what: "a limit, more than adk-go", ours: "b", peer: "a", goal: goal{most: 12, peer: true}},
		{what: "more than a limit and adk-go", ours: "c", peer: "a", goal: goal{most: 12, peer: true}},
		{what: "twice another", ours: "c", goal: goal{times: 2, of: "b"}},
		{what: "more than twice another", ours: "d", goal: goal{times: 2, of: "b"}},
		{what: "without adk-go", ours: "a", peer: "x", goal: goal{peer: true}},
		{what: "without ours", ours: "x", goal: goal{most: 1}},
		{what: "without another", ours: "a", goal: goal{times: 2, of: "x"}},
		{what: "no goal", ours: "e", peer: "f"},
	}
	var out bytes.Buffer
	missed := printTable(&out, table, figures{"a": 9.5, "b": 12, "c": 24, "d": 24.1, "e": .050849, "f": 1412.4})
	want := `                                                       ours     adk-go       goal  
less than a limit                                      9.50          -    <= 12.0  met
the limit itself                                       12.0          -    <= 12.0  met
more than the limit                                    24.0          -    <= 12.0  missed
less than adk-go                                       9.50       12.0    <= 12.0  met
more than adk-go                                       24.0       12.0    <= 12.0  missed
as much as adk-go                                      12.0       12.0    <= 12.0  met
more than a limit, less than adk-go                    12.0       24.0    <= 24.0  met
a limit, more than adk-go                              12.0       9.50    <= 12.0  met
more than a limit and adk-go                           24.0       9.50    <= 12.0  missed
twice another                                          24.0          -    <= 24.0  met
more than twice another                                24.1          -    <= 24.0  missed
without adk-go                                         9.50          -          ?  not measured
without ours                                              -          -          ?  not measured
without another                                        9.50          -          ?  not measured
no goal                                              0.0508       1412          -  -
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if missed != 7 {
		t.Errorf("%d goals are missed, want 7", missed)
	}
}

// Goals that everyone can check are literal numbers, or compare with what is measured too.
func TestEveryGroupIsMeasured(t *testing.T) {
	for _, group := range groups(rows) {
		if s := sources[group]; s.read == nil && (s.jobs == nil || s.rounds < 1) {
			t.Errorf("nothing measures %s", group)
		}
	}
	if got, want := len(groups(rows)), len(sources); got != want {
		t.Errorf("rows have %d groups, and %d are measured", got, want)
	}
}

// The units are read from the file that make cost writes.
func TestTheUnitsHaveFigures(t *testing.T) {
	t.Chdir("../../..")
	found, err := readUnits()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range units {
		if found[r.ours] <= 0 {
			t.Errorf("%s is %v", r.ours, found[r.ours])
		}
	}
	t.Chdir(t.TempDir())
	if _, err := readUnits(); err == nil {
		t.Error("without the file there is no error")
	}
}
