package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// onePackage is what most programs import.
const onePackage = "core/reveille"

// Whoever looks a name of core/reveille up finds an Example that uses it.
func TestEachNameOfReveilleHasAnExample(t *testing.T) {
	_, all := checked(t)
	i := slices.IndexFunc(all, func(p typed) bool { return p.room == onePackage })
	used := usedInExamples(t, onePackage, "core/reveille/reveilletest", "adapters/models/openai", "adapters/protocols/httpapi")
	for _, name := range all[i].types.Scope().Names() {
		if ast.IsExported(name) && !used[name] {
			t.Errorf("no Example uses reveille.%s", name)
		}
	}
}

// usedInExamples returns the names of core/reveille in the files of rooms that have Examples.
func usedInExamples(t *testing.T, rooms ...string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join(root(t), room, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "\nfunc Example") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "reveille" {
						used[s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return used
}

// What go doc says of core/reveille is read in one go.
func TestTheDocumentationOfReveilleIsShort(t *testing.T) {
	c := exec.Command("go", "doc", "./"+onePackage)
	c.Dir = root(t)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(out), "\n"); lines > 200 {
		t.Errorf("go doc ./%s prints %d lines, at most 200", onePackage, lines)
	}
}
