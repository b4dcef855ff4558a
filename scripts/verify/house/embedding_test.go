package house

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// embedding is the guide whose module this test makes.
const embedding = "functions/guides/embedding.md"

// TestTheGuidesModuleBuilds makes the module that the guide to embedding shows, and runs its
// first program.
func TestTheGuidesModuleBuilds(t *testing.T) {
	here, folder, guide := root(t), t.TempDir(), read(t, embedding)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var dev string
	for _, m := range regexp.MustCompile("(?s)```go module\n// (\\S+)\n(.*?)```").FindAllStringSubmatch(guide, -1) {
		write(m[1], m[2])
		dev = m[2] // the last one
	}
	mains := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| `(serve[a-z/]*)` \\| `([a-z]+\\.[^`]+)` \\|$").FindAllStringSubmatch(guide, -1) {
		write(m[1]+"/main.go", mainOf(dev, m[2], m[3]))
		mains++
	}
	if mains != 5 {
		t.Errorf("%s has the mains of %d functions, want 5", embedding, mains)
	}
	write("go.mod", "module example.com/mine\n\n"+strings.Replace(goMod(t), "require (", "require "+module+" v0.0.0\n\nreplace "+module+" => "+here+"\n\nrequire (", 1))
	write("go.sum", read(t, "go.sum"))
	watch(t)
	goes(t, folder, "vet", "-mod=mod", "./...")

	command := exec.Command("go", "run", "-mod=mod", "./assistant")
	command.Dir = folder
	printed, err := command.Output()
	if err != nil || len(printed) == 0 || !strings.Contains(guide, "```text\n"+string(printed)+"```") {
		t.Errorf("%s does not show what its program prints, %q (%v)", embedding, printed, err)
	}
}

// goMod is this module's go.mod without its name.
func goMod(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, "go.mod"), "\n")
	return rest
}

// mainOf returns the main of the local host with another call, and the imports for it.
func mainOf(dev, room, call string) string {
	var lines []string
	for line := range strings.Lines(dev) {
		name := strings.Trim(line[strings.LastIndexAny(line, "/\t ")+1:], "\"\n")
		if !strings.HasPrefix(line, "\t\"") || strings.Contains(call, name+".") {
			lines = append(lines, line)
		}
	}
	text := strings.Replace(strings.Join(lines, ""), "\n)", "\n\t\""+module+"/functions/kit/"+room+"\"\n)", 1)
	return regexp.MustCompile(`local\.Main\(.*\)`).ReplaceAllLiteralString(text, call)
}
