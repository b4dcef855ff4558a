package house

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// typed is a package of core as the type checker sees it, without its tests.
type typed struct {
	room  string   // such as "core/internal/run"
	names []string // of its files, in the order of files
	files []*ast.File
	text  [][]byte
	types *types.Package
	info  *types.Info
}

// house is core, checked once for all tests of structure.
var house struct {
	once sync.Once
	fset *token.FileSet
	core []typed // a package comes after those that it imports
	err  error
}

// checked returns the packages of core. They are checked from their source, which takes
// two seconds; what they import from elsewhere comes from the compiler's export data.
func checked(t *testing.T) (*token.FileSet, []typed) {
	t.Helper()
	house.once.Do(func() {
		house.fset = token.NewFileSet()
		house.core, house.err = check(house.fset, list(t, "-export", "-deps", "./core/..."))
	})
	if house.err != nil {
		t.Fatal(house.err)
	}
	return house.fset, house.core
}

// checkedAll returns the packages of core, adapters and functions, checked like core's.
func checkedAll(t *testing.T) (*token.FileSet, []typed) {
	t.Helper()
	whole.once.Do(func() {
		whole.fset = token.NewFileSet()
		whole.all, whole.err = check(whole.fset, list(t, "-export", "-deps", "./core/...", "./adapters/...", "./functions/..."))
	})
	if whole.err != nil {
		t.Fatal(whole.err)
	}
	return whole.fset, whole.all
}

// whole is the house without its scripts, checked once for all tests of its API.
var whole struct {
	once sync.Once
	fset *token.FileSet
	all  []typed
	err  error
}

// check type-checks the packages of this module among all, which name their dependencies first.
func check(fset *token.FileSet, all []pkg) (core []typed, err error) {
	done, export := map[string]*types.Package{}, map[string]string{}
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	from := importerFunc(func(path string) (*types.Package, error) {
		if p := done[path]; p != nil {
			return p, nil
		}
		return compiled.Import(path)
	})
	for _, p := range all {
		if !strings.HasPrefix(p.ImportPath, module) {
			export[p.ImportPath] = p.Export
			continue
		}
		one, err := parse(fset, p)
		if err != nil {
			return nil, err
		}
		one.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		one.types, err = (&types.Config{Importer: from}).Check(p.ImportPath, fset, one.files, one.info)
		if err != nil {
			return nil, fmt.Errorf("type-check %s: %w", p.room(), err)
		}
		done[p.ImportPath] = one.types
		core = append(core, one)
	}
	return core, nil
}

func parse(fset *token.FileSet, p pkg) (typed, error) {
	one := typed{room: p.room(), names: p.GoFiles}
	if _, err := os.ReadDir(p.Dir); err != nil { // so that go test's cache sees a new file
		return one, err
	}
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return one, err
		}
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return one, err
		}
		one.files, one.text = append(one.files, file), append(one.text, text)
	}
	return one, nil
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
