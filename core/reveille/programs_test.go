package reveille_test

import (
	"os"
	"strings"
	"testing"
)

// TestProgramsOfAUserAreShort counts the lines of whole programs, which run as examples:
// all but the imports and what they are checked by. Blank lines and comments count.
func TestProgramsOfAUserAreShort(t *testing.T) {
	tests := []struct {
		file string
		most int
	}{
		{"example_agent_test.go", 37},
		{"example_office_test.go", 90},
		{"example_support_test.go", 200},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			text, err := os.ReadFile(test.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := programLines(string(text)); n < 10 || n > test.most {
				t.Errorf("the program has %d lines, want at most %d", n, test.most)
			}
		})
	}
}

func programLines(text string) (n int) {
	_, rest, _ := strings.Cut(text, "import (\n")
	_, program, _ := strings.Cut(rest, "\n)\n")
	n = 1 // the package's
	for line := range strings.Lines(strings.TrimSpace(program)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "// Output:") {
			n++
		}
	}
	return n
}

func TestLinesOfAProgramAreCountedWithoutItsImports(t *testing.T) {
	text := "package p\n\nimport (\n\t\"fmt\"\n)\n\n// Says hello.\nfunc Example() {\n\tfmt.Println(1)\n\t// Output: 1\n}\n"
	if n := programLines(text); n != 5 {
		t.Errorf("%d lines, want 5", n)
	}
}
