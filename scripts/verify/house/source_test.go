package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources calls f with every Go file of a room that is no test.
func sources(t *testing.T, pattern string, f func(room, name string, fset *token.FileSet, file *ast.File, text []byte)) {
	t.Helper()
	for _, p := range list(t, pattern) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			f(p.room(), name, fset, file, text)
		}
	}
}

// outside are the ways to the world that only core/env may take.
var outside = map[string][]string{
	"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context":      {"WithTimeout", "WithDeadline"},
	"crypto/rand":  {"*"},
	"math/rand":    {"*"},
	"math/rand/v2": {"*"},
	"os":           {"*"},
	"log":          {"*"},
	"unsafe":       {"*"},
}

// deadlines are the rooms that may end a context by the clock: the work that an
// invocation's end cuts short.
var deadlines = []string{"core/internal/run", "core/host"}

func TestCoreReachesTheWorldThroughEnvOnly(t *testing.T) {
	sources(t, "./core/...", func(room, name string, fset *token.FileSet, file *ast.File, _ []byte) {
		if room == "core/env" || strings.HasPrefix(room, "core/store/storetest") || room == "core/internal/sim/simtest" {
			return
		}
		names := map[string]string{}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			local := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				local = spec.Name.Name
			}
			names[local] = path
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement outside core/env", fset.Position(n.Pos()))
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: func init in core", fset.Position(n.Pos()))
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				path := names[x.Name]
				if path == "context" && slices.Contains(deadlines, room) {
					return true
				}
				if banned := outside[path]; slices.Contains(banned, n.Sel.Name) || slices.Contains(banned, "*") {
					t.Errorf("%s: %s.%s, which only core/env may use", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	})
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	sources(t, "./...", func(room, _ string, _ *token.FileSet, file *ast.File, _ []byte) {
		documented[room] = documented[room] || file.Doc != nil
	})
	for room, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", room)
		}
	}
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	sources(t, "./...", func(room, name string, fset *token.FileSet, file *ast.File, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > 500 {
			t.Errorf("%s/%s has %d lines, at most 500", room, name, n)
		}
		if strings.HasPrefix(room, "functions/") && name == "main.go" {
			if n := bytes.Count(text, []byte("\n")); n >= 80 {
				t.Errorf("%s/%s has %d lines, under 80", room, name, n)
			}
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line; n > 70 {
				t.Errorf("%s: func %s has %d lines, about 60 at most", fset.Position(f.Pos()), f.Name.Name, n)
			}
		}
	})
}

// top is what may stand at the top level, besides dotfiles and what .gitignore
// calls a test's leavings.
var top = []string{
	"go.mod", "go.sum", "functions", "core", "adapters", "infra", "template.yaml", "events", "scripts",
	"Makefile", "README.md", "LICENSE", "package.json", "samconfig.toml",
}

func TestNamesOfRooms(t *testing.T) {
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ignored := strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || slices.Contains([]string{".test", ".prof"}, filepath.Ext(e.Name()))
		if !ignored && !slices.Contains(top, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "models", "base", "manager", "misc"}
	for _, p := range list(t, "./...") {
		if last := filepath.Base(p.room()); slices.Contains(empty, last) && p.room() != "functions/app/models" {
			t.Errorf("%s: the name says nothing", p.room())
		}
	}
}

// groups are the folders that only group packages, of each floor that has them.
var groups = map[string][]string{
	"adapters":  {"stores", "queues", "models", "protocols", "tools", "triggers", "outbound", "identity", "aws"},
	"functions": {"kit"},
	"scripts":   {"user", "verify"},
}

// alone are the packages that stand on their floor without a group.
var alone = map[string][]string{
	"adapters":  {"internal"},
	"functions": {"api", "stream", "step", "sweep", "trigger", "app"},
}

func TestEachRoomIsInItsGroup(t *testing.T) {
	for _, p := range list(t, "./...") {
		names := strings.Split(p.room(), "/")
		among, grouped := groups[names[0]]
		switch {
		case !grouped:
		case len(names) < 2:
			t.Errorf("%s is a floor of the house, and no package", p.room())
		case slices.Contains(among, names[1]):
			if len(names) == 2 {
				t.Errorf("%s groups packages, and is none", p.room())
			}
		case !slices.Contains(alone[names[0]], names[1]):
			t.Errorf("%s is in no group of %s: want one of %s", p.room(), names[0], strings.Join(among, ", "))
		}
	}
}

// A schema may come from a stranger: only core/internal/schema, which bounds it first, compiles one.
func TestSchemasAreCompiledInOnePackage(t *testing.T) {
	sources(t, "./...", func(room, name string, fset *token.FileSet, file *ast.File, _ []byte) {
		if room == "core/internal/schema" || !slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return strings.Contains(s.Path.Value, "/jsonschema-go/") }) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			called, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Resolve", "Resolved", "Validate", "ApplyDefaults"}, called.Sel.Name) {
				t.Errorf("%s: %s.%s: use package core/internal/schema", fset.Position(n.Pos()), room, called.Sel.Name)
			}
			return true
		})
	})
}
