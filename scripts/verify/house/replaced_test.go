//go:build project

package house

import (
	"slices"
	"strings"
	"testing"
)

// TestTestsPassWithAnotherApp: with an agent of a user in functions/app/app.go, the tests of
// each package that app is linked into pass.
func TestTestsPassWithAnotherApp(t *testing.T) {
	goes(t, root(t), append([]string{"test", "-overlay", otherApp(t)}, dependents(t, module+"/functions/app")...)...)
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
	return paths
}
