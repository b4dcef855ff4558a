package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// compiler type-checks packages whose text has changed. What they import comes from the
// compiler's export data of the source as it is, so that one package takes milliseconds.
type compiler struct {
	fset     *token.FileSet
	packages map[string]listed    // by folder, such as core/internal/run
	parsed   map[string]*ast.File // of files as they are, by path
	imports  types.Importer
}

// listed is a package as `go list` says it.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// newCompiler compiles core and what it imports.
func newCompiler() (*compiler, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./core/...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	c := &compiler{fset: token.NewFileSet(), packages: map[string]listed{}, parsed: map[string]*ast.File{}}
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		export[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(root, p.Dir); err == nil {
			c.packages[filepath.ToSlash(folder)] = p
		}
	}
	c.imports = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	return c, nil
}

// check is the first error of the packages that the changed files belong to; nil: each of
// them compiles. Packages that import them are not looked at.
func (c *compiler) check(changed map[string]string) error {
	folders := map[string]bool{}
	for file := range changed {
		folders[path.Dir(file)] = true
	}
	for folder := range folders {
		p, ok := c.packages[folder]
		if !ok {
			return fmt.Errorf("%s is no package of core", folder)
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := c.parse(folder+"/"+name, changed)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		if _, err := (&types.Config{Importer: c.imports}).Check(p.ImportPath, c.fset, files, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) parse(file string, changed map[string]string) (*ast.File, error) {
	if text, ok := changed[file]; ok {
		return parser.ParseFile(c.fset, file, text, parser.SkipObjectResolution)
	}
	if c.parsed[file] == nil {
		parsed, err := parser.ParseFile(c.fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.parsed[file] = parsed
	}
	return c.parsed[file], nil
}
