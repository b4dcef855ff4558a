package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlanHasBurstsOfBothSignalsAndRepeatsWithItsSeed(t *testing.T) {
	strikes := plan(rand.New(rand.NewPCG(1, 0)), 60)
	if len(strikes) != 60 {
		t.Fatalf("%d strikes, want 60", len(strikes))
	}
	if diff := cmp.Diff(strikes, plan(rand.New(rand.NewPCG(1, 0)), 60)); diff != "" {
		t.Errorf("the same seed gives another plan:\n%s", diff)
	}
	longest := func(is func(strike) bool) (most int) {
		n := 0
		for _, s := range strikes {
			if n++; !is(s) {
				n = 0
			}
			most = max(most, n)
		}
		return most
	}
	if n := longest(func(s strike) bool { return s.Kill && !s.Term }); n < 5 {
		t.Errorf("at most %d SIGKILLs in a row, want a burst of 5", n)
	}
	if n := longest(func(s strike) bool { return s.Term && !s.Kill && s.Leave }); n < 7 {
		t.Errorf("at most %d SIGTERMs in a row, want a burst of 7", n)
	}
}

func TestExecutionsAreCountedByLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "executions")
	e := executions{path: path}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.read(1); err != nil { // no tool has run yet
		t.Fatal(err)
	}
	write("r1/3/0\nr1/3/1\nr2/")
	if err := e.read(1); err != nil {
		t.Fatal(err)
	}
	write("7/0\nr1/3/1\n")
	if err := e.read(2); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[call][]int{
		"r1": {{Turn: 3, Index: 0}: {1}, {Turn: 3, Index: 1}: {1, 2}},
		"r2": {{Turn: 7, Index: 0}: {2}},
	}
	if diff := cmp.Diff(want, e.runs); diff != "" {
		t.Error(diff)
	}
	write("r1-3-0\n")
	if err := e.read(2); err == nil {
		t.Error("a line that is no key was accepted")
	}
}

func TestMissingNamesWhatWasNeverDone(t *testing.T) {
	var done tally
	done.accepted(&input{Mode: modeSteer})
	done.cancels.Add(1)
	want := []string{"decision", "mode interrupt", "mode queue", "mode reject", "refusal", "repetition", "resumed stream"}
	if diff := cmp.Diff(want, done.missing()); diff != "" {
		t.Error(diff)
	}
}
