package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCIRunsWhatMakeTestDoes: .ci/run runs the parts of make test one by one, so that some of
// them run beside other stages. Each of its stages is a target of the Makefile, and runs once.
func TestCIRunsWhatMakeTestDoes(t *testing.T) {
	makefile := read(t, "Makefile")
	parts := regexp.MustCompile(`(?m)^test: (.*?) ##`).FindStringSubmatch(makefile)
	if parts == nil {
		t.Fatal("the Makefile has no target test")
	}
	var runs []string
	for line := range strings.Lines(read(t, ".ci/run")) {
		words := strings.Fields(strings.ReplaceAll(line, "'", " "))
		if len(words) < 2 || words[0] != "stage" && words[0] != "beside" {
			continue
		}
		for _, word := range words[1:] {
			if word == "#" {
				break
			}
			if regexp.MustCompile(`^[0-9]+$`).MatchString(word) { // the niceness of a lane
				continue
			}
			if !strings.Contains(makefile, "\n"+word+":") || slices.Contains(runs, word) {
				t.Errorf(".ci/run has the stage %q, want targets of the Makefile, each once", word)
			}
			runs = append(runs, word)
		}
	}
	for _, part := range strings.Fields(parts[1]) {
		if !slices.Contains(runs, part) {
			t.Errorf(".ci/run does not run %s, a part of make test: it runs %q", part, runs)
		}
	}
}
