package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
