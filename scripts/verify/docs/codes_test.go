package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ends are the places in the source of the core where a run ends with an error, and its code.
var ends = regexp.MustCompile(`end(?:With|At)\("([a-z_]+)"|EndError\{(?:Code: )?"([a-z_]+)"|TerminationError, Code: "([a-z_]+)"|CodeInvalidOutput = "([a-z_]+)"`)

// TestTheCodesOfFailedRunsAreListed compares functions/guides/runs.md with the source.
func TestTheCodesOfFailedRunsAreListed(t *testing.T) {
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range names {
		folder := filepath.ToSlash(filepath.Dir(name))
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") ||
			folder != "core/internal/thread" && !strings.HasPrefix(folder, "core/internal/run") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // it is deleted
		}
		for _, m := range ends.FindAllStringSubmatch(string(source), -1) {
			known[strings.Join(m[1:], "")] = true
		}
	}
	_, table, found := strings.Cut(read(t, "functions/guides/runs.md"), "\n| Code | Cause |\n")
	if !found {
		t.Fatal("functions/guides/runs.md has no table of codes")
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("[a-z_]+").FindAllString(row[1], -1) {
			listed[code] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("functions/guides/runs.md lists other codes than the source (-source +listed):\n%s", diff)
	}
}
