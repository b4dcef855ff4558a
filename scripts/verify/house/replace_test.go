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

// TestAppCanBeReplaced: a user may put anything into functions/app/app.go. With an agent of
// their own there, everything still passes go vet. That the tests pass, too, is
// TestTestsPassWithAnotherApp (make test-project), since it takes long.
func TestAppCanBeReplaced(t *testing.T) {
	goes(t, root(t), "vet", "-overlay", otherApp(t), "./...")
	watch(t)
}

// otherApp is the path of an overlay in which functions/app/app.go is testdata/app.go.
func otherApp(t *testing.T) string {
	t.Helper()
	own, err := filepath.Abs("testdata/app.go")
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root(t), "functions", "app", "app.go"): own}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, mapping, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
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
