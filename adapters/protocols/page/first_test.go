package page_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCodeOfTheFirstScreenCompiles writes the code that the first screen offers where the
// page says that it belongs, and compiles the package.
func TestTheCodeOfTheFirstScreenCompiles(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, rest, ok := strings.Cut(read("src/first.tsx"), "export const tool = `")
	code, _, closed := strings.Cut(rest, "\n`;")
	if !ok || !closed {
		t.Fatal("src/first.tsx has no code to copy")
	}
	app, err := filepath.Abs("../../../functions/app/app.go")
	if err != nil {
		t.Fatal(err)
	}
	const last = "\treturn parts, nil\n"
	file := read(app)
	if !strings.Contains(file, "demo.Parts(models)") || strings.Count(file, last) != 1 {
		t.Skip("functions/app/app.go is not the one of a fresh copy")
	}
	file = strings.Replace(file, last, strings.ReplaceAll(code, "\\`", "`")+"\n"+last, 1)
	file = strings.Replace(file, "import (\n", "import (\n\t\"context\"\n\n", 1)
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, "app.go"), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(changed, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {app: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, ".")
	command.Dir = filepath.Dir(app)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, file)
	}
}
