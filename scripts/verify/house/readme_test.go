package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// samples are README.md's blocks of Go, without their fences.
func samples(t *testing.T) (blocks []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// TestTheReadmesTestIsOne: the test of crashes that it shows is run.
func TestTheReadmesTestIsOne(t *testing.T) {
	for _, sample := range samples(t) {
		if strings.HasPrefix(sample, "func Test") && !strings.Contains(read(t, "functions/kit/demo/crash_test.go"), sample) {
			t.Errorf("functions/kit/demo/crash_test.go does not have the sample\n%s", sample)
		}
	}
}

// TestTheReadmeListsTheVariables compares its table with package settings: names
// in order, and defaults where they are literal.
func TestTheReadmeListsTheVariables(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \\| ([^|]+) \\|")
	name := regexp.MustCompile("[A-Z_]+")
	var listed []string
	defaults := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(read(t, "README.md"), -1) {
		for _, n := range name.FindAllString(m[1], -1) {
			listed = append(listed, n)
			if value, _, literal := strings.Cut(strings.TrimPrefix(m[2], "`"), "`"); literal {
				defaults[n] = value
			}
		}
	}
	var known []string
	variable := regexp.MustCompile(`(?m)^\t\t\{"([A-Z_]+)", "([^"]*)"`)
	for _, m := range variable.FindAllStringSubmatch(read(t, "functions/kit/settings/settings.go"), -1) {
		known = append(known, m[1])
		if defaults[m[1]] != m[2] {
			t.Errorf("%s: README.md says the default is %q, it is %q", m[1], defaults[m[1]], m[2])
		}
	}
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Errorf("README.md lists other variables than package settings (-settings +README):\n%s", diff)
	}
}
