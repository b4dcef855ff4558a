package house

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestTheReadmesSamplesAreExamples: what it shows runs as a test, but for whole
// files, which begin with their name.
func TestTheReadmesSamplesAreExamples(t *testing.T) {
	tests := []struct{ file, indent string }{
		{"functions/app/example_test.go", "\t"},
		{"functions/app/web/example_test.go", ""},
		{"adapters/protocols/httpapi/example_embed_test.go", "\t"},
		{"functions/kit/demo/crash_test.go", ""},
	}
	blocks := slices.DeleteFunc(samples(t), func(s string) bool { return strings.HasPrefix(s, "// ") || isProgram(s) })
	if len(blocks) != len(tests) {
		t.Fatalf("README.md has %d samples, want %d", len(blocks), len(tests))
	}
	for i, test := range tests {
		var indented strings.Builder
		for line := range strings.Lines(blocks[i]) {
			if line != "\n" {
				indented.WriteString(test.indent)
			}
			indented.WriteString(line)
		}
		if !strings.Contains(read(t, test.file), indented.String()) {
			t.Errorf("%s does not have the sample\n%s", test.file, blocks[i])
		}
	}
}

func isProgram(sample string) bool { return strings.HasPrefix(sample, "package main\n") }

// TestTheReadmesProgramIsAnExample: it is a file of examples, as a program.
func TestTheReadmesProgramIsAnExample(t *testing.T) {
	programs := slices.DeleteFunc(samples(t), func(s string) bool { return !isProgram(s) })
	if len(programs) != 1 {
		t.Fatalf("README.md has %d programs, want 1", len(programs))
	}
	example := read(t, "core/reveille/example_agent_test.go")
	example = strings.Replace(example, "package reveille_test\n", "package main\n", 1)
	example = strings.Replace(example, "func Example_agent() {", "func main() {", 1)
	example = regexp.MustCompile("\t// Output: .*\n").ReplaceAllString(example, "")
	if diff := cmp.Diff(example, programs[0]); diff != "" {
		t.Errorf("README.md has another program than the example (-example +README):\n%s", diff)
	}
}

// TestTheReadmesModuleBuilds makes the module of one's own that the README shows.
func TestTheReadmesModuleBuilds(t *testing.T) {
	here, folder := root(t), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var dev string
	for _, s := range samples(t) {
		if first, text, _ := strings.Cut(s, "\n"); strings.HasPrefix(first, "// ") {
			write(strings.TrimPrefix(first, "// "), text)
			dev = text // the last one
		}
	}
	mains := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| `((?:serve|front|sweep|triggers)\\.[^`]+)` \\|$").FindAllStringSubmatch(read(t, "README.md"), -1) {
		write(m[1]+"/main.go", mainOf(dev, m[2]))
		mains++
	}
	if mains != 5 {
		t.Errorf("README.md has the mains of %d functions, want 5", mains)
	}
	write("go.mod", "module example.com/mine\n\n"+strings.Replace(goMod(t), "require (", "require "+module+" v0.0.0\n\nreplace "+module+" => "+here+"\n\nrequire (", 1))
	write("go.sum", read(t, "go.sum"))
	watch(t)
	goes(t, folder, "vet", "-mod=mod", "./...")
}

// goMod is this module's go.mod without its name.
func goMod(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, "go.mod"), "\n")
	return rest
}

// mainOf is the main of the local host with another call, and the imports for it.
func mainOf(dev, call string) string {
	var lines []string
	for line := range strings.Lines(dev) {
		name := strings.Trim(line[strings.LastIndexAny(line, "/\t ")+1:], "\"\n")
		if !strings.HasPrefix(line, "\t\"") || strings.Contains(call, name+".") {
			lines = append(lines, line)
		}
	}
	room, _, _ := strings.Cut(call, ".")
	if room != "serve" {
		room = "serve/" + room
	}
	text := strings.Replace(strings.Join(lines, ""), "\n)", "\n\t\""+module+"/functions/kit/"+room+"\"\n)", 1)
	return regexp.MustCompile(`local\.Main\(.*\)`).ReplaceAllLiteralString(text, call)
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

// TestTheReadmeNamesWhatExists looks up every file and make target in it.
func TestTheReadmeNamesWhatExists(t *testing.T) {
	readme, makefile := read(t, "README.md"), read(t, "Makefile")
	path := regexp.MustCompile("`((?:functions|core|adapters|scripts|events)/[a-z0-9_/.]+)`")
	for _, m := range path.FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(root(t), m[1])); err != nil {
			t.Error(err)
		}
	}
	for _, m := range regexp.MustCompile("`make ([a-z-]+)`|(?m:^make ([a-z-]+) )").FindAllStringSubmatch(readme, -1) {
		if target := m[1] + m[2]; !strings.Contains(makefile, "\n"+target+":") {
			t.Errorf("there is no make %s", target)
		}
	}
}
