package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnEntryIsReadAsItIsPrinted(t *testing.T) {
	for _, id := range []identity{
		{file: "core/internal/run/run.go", where: "(*work).watch", operator: opBoundary, before: "if a < b {", after: "if a <= b {", nth: 1},
		{file: "core/internal/run/run.go", where: "maxFailures", operator: opCase, before: "case 1:", after: "", nth: 12},
	} {
		got, reason, err := parseEntry(id.String() + "\n# because")
		if err != nil || got != id || reason != "because" {
			t.Errorf("%s\nis read as\n%s\n%q, %v", id, got, reason, err)
		}
	}
}

func TestAnEntryNeedsItsFourLines(t *testing.T) {
	for _, entry := range []string{
		"a.go f drop\n- x\n+ y",
		"a.go f drop\n- x\n+ y\n#",
		"a.go f\n- x\n+ y\n# why",
		"a.go f drop two\n- x\n+ y\n# why",
		"a.go f drop\n+ x\n- y\n# why",
	} {
		if _, _, err := parseEntry(entry); !errors.Is(err, errEntry) {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestAListHasEveryMutantOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.txt")
	if got, err := readEntries(file); len(got) != 0 || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	one := "a.go f drop\n- x\n+ y\n# why\n"
	if err := os.WriteFile(file, []byte("# A comment.\n\n"+one+"\n"+one), 0o600); err != nil {
		t.Fatal(err)
	}
	want := file + ": listed twice:\na.go f drop\n- x\n+ y"
	if _, err := readEntries(file); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSuitesOfAPackage(t *testing.T) {
	table, err := parseSuites("core/internal/run=core/host+long,core/host,core/internal/run,core/internal/sim;core/internal/thread=core/internal/thread")
	if err != nil {
		t.Fatal(err)
	}
	want := []suite{{"core/host", true}, {"core/host", false}, {"core/internal/run", false}, {"core/internal/sim", false}}
	if diff := cmp.Diff(want, table["core/internal/run"], cmp.AllowUnexported(suite{})); diff != "" || len(table) != 2 {
		t.Errorf("%d packages, core/internal/run (-want +got):\n%s", len(table), diff)
	}
	took := map[suite]time.Duration{{"core/host", false}: 2, {"core/internal/run", false}: 3, {"core/internal/sim", false}: 1}
	sorted := []suite{{"core/internal/run", false}, {"core/internal/sim", false}, {"core/host", false}, {"core/host", true}}
	if diff := cmp.Diff(sorted, order("core/internal/run", want, took), cmp.AllowUnexported(suite{})); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "core/internal/run", "core/internal/run="} {
		if _, err := parseSuites(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
