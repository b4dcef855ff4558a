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

	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/strict"
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
	table, _, _ = strings.Cut(table, "\n\n")
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

// TestTheStopPoliciesAreListed: functions/guides/runs.md has each type with the field that
// it takes.
func TestTheStopPoliciesAreListed(t *testing.T) {
	_, table, found := strings.Cut(read(t, "functions/guides/runs.md"), "\n| Type | Field | Stops the run |\n")
	if !found {
		t.Fatal("functions/guides/runs.md has no table of stop policies")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, row[1])
		value := "3"
		if row[2] == "tool_name" || row[2] == "pattern" {
			value = `"x"`
		}
		var policy agent.StopSpec
		if err := strict.Decode([]byte(`{"type":"`+row[1]+`","`+row[2]+`":`+value+`}`), &policy); err != nil {
			t.Errorf("%s: %v", row[1], err)
		} else if err := policy.Check(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		agent.StopMaxRounds, agent.StopTimeout, agent.StopTokenBudget, agent.StopConsecutiveErrors,
		agent.StopOnTool, agent.StopContentMatch, agent.StopLoopDetection,
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("functions/guides/runs.md lists other stop policies (-want +listed):\n%s", diff)
	}
}

// TestUsageAndLimitsNameWhatExists: the tables of functions/guides/usage-and-limits.md have
// the fields of a report, and the limits.
func TestUsageAndLimitsNameWhatExists(t *testing.T) {
	text := read(t, "functions/guides/usage-and-limits.md")
	first := func(header string) (names []string) {
		_, table, found := strings.Cut(text, header)
		if !found {
			t.Fatalf("there is no table %q", header)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1) {
			names = append(names, regexp.MustCompile("[a-z_]+").FindAllString(row[1], -1)...)
		}
		return names
	}
	report := read(t, "adapters/protocols/httpapi/usage.go")
	for _, name := range first("| Figure | Source |\n") {
		if !strings.Contains(report, `"`+name+`"`) {
			t.Errorf("a usage report has no field %s", name)
		}
	}
	want := []string{string(account.RunsADay), string(account.TokensADay), string(account.SpendADay), string(account.ConcurrentRuns)}
	if diff := cmp.Diff(want, first("| Limit | Counts | Refusal | Ends |\n")); diff != "" {
		t.Errorf("limits (-want +listed):\n%s", diff)
	}
}
