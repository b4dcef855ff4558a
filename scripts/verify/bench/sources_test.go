package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Both programs collect as seldom as the local host does.
func TestThePercentageIsThatOfTheLocalHost(t *testing.T) {
	source, err := os.ReadFile("../../../functions/kit/local/collect.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := "const garbage = " + hostGC + "\n"; !strings.Contains(string(source), want) {
		t.Errorf("package local does not say %q", want)
	}
}

func TestJobsOfBothPrograms(t *testing.T) {
	p := programs{local: "local.test", peer: "peer", folder: "/f"}
	got := append([]job{p.ours("HostRuns/bolt/clients=16", 1000)}, p.theirs("gogc=100 runs/disk/clients=16", "100", "-clients", "16")...)
	want := []job{
		{"", []string{"local.test", "-test.run", "^$", "-test.bench", "^BenchmarkHostRuns$/^bolt$/^clients=16$", "-test.benchtime", "1000x"}, "functions/kit/local"},
		{"gogc=100 runs/disk/clients=16", []string{"peer", "runs", "-gc", "100", "-clients", "16", "-file", "/f/sessions.db"}, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(job{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (programs{local: "local.test"}).theirs("runs/memory", "100"); got != nil {
		t.Errorf("without adk-go there is %v", got)
	}
}

func TestAPeerThatCannotBeBuiltIsLeftOutWithOneSentence(t *testing.T) {
	got := leftOut([]byte("\ngo: google.golang.org/adk/v2@v2.2.0: no network\nmore\n"))
	if want := "adk-go is skipped, since its module cannot be built: go: google.golang.org/adk/v2@v2.2.0: no network"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
