package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCIRunsWhatMakeTestDoes: .ci/run runs the parts of make test one by one, so that some of
// them run beside other stages.
func TestCIRunsWhatMakeTestDoes(t *testing.T) {
	parts := regexp.MustCompile(`(?m)^test: (.*?) ##`).FindStringSubmatch(read(t, "Makefile"))
	if parts == nil {
		t.Fatal("the Makefile has no target test")
	}
	var runs []string
	for line := range strings.Lines(read(t, ".ci/run")) {
		switch words := strings.Fields(strings.NewReplacer("'", " ").Replace(line)); {
		case len(words) > 1 && (words[0] == "stage" || words[0] == "beside"):
			runs = append(runs, words[1:]...)
		}
	}
	for _, part := range strings.Fields(parts[1]) {
		if !slices.Contains(runs, part) {
			t.Errorf(".ci/run does not run %s, a part of make test: it runs %q", part, runs)
		}
	}
}
