package house

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAppCanBeReplaced: a user may put anything into functions/app/app.go. With
// an agent of his own there, everything still passes go vet, and so do the tests
// of each package that app is linked into.
func TestAppCanBeReplaced(t *testing.T) {
	here := root(t)
	own, err := filepath.Abs("testdata/app.go")
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "functions", "app", "app.go"): own}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, mapping, 0o600); err != nil {
		t.Fatal(err)
	}
	goes(t, here, "vet", "-overlay", overlay, "./...")
	goes(t, here, append([]string{"test", "-overlay", overlay}, dependents(t, module+"/functions/app")...)...)
}

// dependents are the packages that link a package, they or their tests.
func dependents(t *testing.T, target string) (paths []string) {
	t.Helper()
	for _, p := range list(t, "-test", "./...") {
		path, _, _ := strings.Cut(p.ImportPath, " ") // a package as it is compiled for a test has the test's name behind its own
		path = strings.TrimSuffix(strings.TrimSuffix(path, ".test"), "_test")
		links := slices.ContainsFunc(p.Deps, func(d string) bool { return d == target || strings.HasPrefix(d, target+" ") })
		if (links || path == target) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	watch(t)
	return paths
}

// watch makes go test's cache look at every file of the module: what a child
// process reads, it does not see.
func watch(t *testing.T) {
	t.Helper()
	for _, p := range list(t, "./...") {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if _, err := os.Stat(filepath.Join(p.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// goes runs a go command, which must succeed.
func goes(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	c := exec.Command("go", arguments...)
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}
