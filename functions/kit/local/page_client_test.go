//go:build clients

package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// pictures is where the screenshots go, for a person to look at.
const pictures = "../../../.reveille/screenshots"

// chromium is the browser of the tests: that of the environment, else the one on PATH.
func chromium(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("CHROMIUM"); given != "" {
		return given
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("there is no browser: install chromium (apt-get install chromium), or name one in CHROMIUM")
	}
	return path
}

// browse runs a script of scripts/verify/clients/page in a browser. It prints what each of its
// scenarios came to, which become subtests.
func browse(t *testing.T, script string, arguments ...string) {
	t.Helper()
	const folder = "../../../scripts/verify/clients/page"
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "playwright-core")); err != nil {
		t.Fatal("the browser's driver is not installed: run `make test-clients`")
	}
	command := exec.CommandContext(t.Context(), "node", append([]string{script}, arguments...)...)
	command.Dir, command.Stderr = folder, os.Stderr
	command.Env = append(os.Environ(), "CHROMIUM="+chromium(t))
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	var scenarios map[string]*string
	if err := json.Unmarshal(out, &scenarios); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(scenarios) == 0 {
		t.Fatal("no scenario ran")
	}
	for name, failure := range scenarios {
		t.Run(name, func(t *testing.T) {
			if failure != nil {
				t.Error(*failure)
			}
		})
	}
}

// TestPageClient uses the page as a person does, against the whole host: with a mouse,
// without one, on a phone, in both themes, and under axe.
func TestPageClient(t *testing.T) {
	folder, err := filepath.Abs(pictures)
	if err != nil {
		t.Fatal(err)
	}
	browse(t, "page.mjs", servePage(t), folder)
	t.Logf("screenshots are in %s", folder)
}

// TestPageClientComputes looks at the parts of the page that need no browser.
func TestPageClientComputes(t *testing.T) {
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "tool", "esbuild", "src/patch.ts", "src/scale.ts", "src/characters.ts", "src/highlight.ts", "src/growing.ts", "src/children.ts", "--bundle", "--format=esm", "--outdir="+folder, "--log-level=warning")
	command.Dir = "../../../adapters/protocols/page"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	browse(t, "parts.mjs", folder)
}
