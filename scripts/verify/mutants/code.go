package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// code is one source file.
type code struct {
	unit   *unit
	path   string // from the module's root
	file   string // absolute
	text   string
	bare   string // text with its comments blanked out
	fset   *token.FileSet
	syntax *ast.File
}

func (c *code) offset(p token.Pos) int { return c.fset.Position(p).Offset }

// of is a node's source, its comments blanked out.
func (c *code) of(n ast.Node) string { return c.bare[c.offset(n.Pos()):c.offset(n.End())] }

// declarations yields the functions, constants and variables by the names that
// they have in an identity.
func (c *code) declarations() iter.Seq2[string, ast.Node] {
	return func(yield func(string, ast.Node) bool) {
		for _, d := range c.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !yield(c.function(d), d) {
					return
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.ValueSpec); ok && !yield(s.Names[0].Name, s) {
						return
					}
				}
			}
		}
	}
}

// function is a function's name with its receiver: (*work).watch.
func (c *code) function(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return d.Name.Name
	}
	receiver := c.of(d.Recv.List[0].Type)
	if strings.HasPrefix(receiver, "*") {
		receiver = "(" + receiver + ")"
	}
	return receiver + "." + d.Name.Name
}

// unit is one package to be mutated.
type unit struct {
	path     string // import path
	dir      string
	name     string // from the module's root
	files    []*code
	importer types.Importer
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
	Module                  *struct{ Dir string }
}

// load reads the packages, named from the module's root.
func load(ctx context.Context, root string, packages []string) ([]*unit, error) {
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module"}
	for _, p := range packages {
		arguments = append(arguments, "./"+p)
	}
	out, err := output(ctx, root, "go", arguments...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	known := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var units []*unit
	for _, p := range own {
		name, err := filepath.Rel(p.Module.Dir, p.Dir)
		if err != nil {
			return nil, err
		}
		u := &unit{path: p.ImportPath, dir: p.Dir, name: filepath.ToSlash(name), importer: known}
		for _, file := range p.GoFiles {
			c, err := parse(fset, u, filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			u.files = append(u.files, c)
		}
		units = append(units, u)
	}
	return units, nil
}

func parse(fset *token.FileSet, u *unit, file string) (*code, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	bare := bytes.Clone(text)
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			start := fset.Position(c.Pos()).Offset
			for i := range len(c.Text) {
				if bare[start+i] != '\n' {
					bare[start+i] = ' '
				}
			}
		}
	}
	return &code{
		unit: u, path: u.name + "/" + filepath.Base(file), file: file, text: string(text), bare: string(bare),
		fset: fset, syntax: syntax,
	}, nil
}

// mutants returns every mutant of the package, those that do not compile
// included.
func (u *unit) mutants() ([]*mutant, error) {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	syntax := make(map[string]*ast.File, len(u.files))
	for _, c := range u.files {
		syntax[c.file] = c.syntax
	}
	if err := u.check(u.files[0].fset, syntax, info); err != nil {
		return nil, fmt.Errorf("%s: %w", u.name, err)
	}
	var all []*mutant
	for _, c := range u.files {
		w := &walker{code: c, info: info}
		all = append(all, w.file()...)
	}
	return all, nil
}

// compiles reports whether the package with the mutant in it type-checks, which
// takes milliseconds where a build takes seconds.
func (m *mutant) compiles() bool {
	u := m.code.unit
	syntax := make(map[string]*ast.File, len(u.files))
	for _, c := range u.files {
		syntax[c.file] = c.syntax
	}
	changed, err := parser.ParseFile(m.code.fset, m.code.file, m.edit.apply(m.code.text), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	syntax[m.code.file] = changed
	return u.check(m.code.fset, syntax, nil) == nil
}

func (u *unit) check(fset *token.FileSet, syntax map[string]*ast.File, info *types.Info) error {
	files := make([]*ast.File, 0, len(syntax))
	for _, name := range slices.Sorted(maps.Keys(syntax)) {
		files = append(files, syntax[name])
	}
	config := types.Config{Importer: u.importer}
	_, err := config.Check(u.path, fset, files, info)
	return err
}

// output runs a tool in dir; its error text is part of the error.
func output(ctx context.Context, dir, name string, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = dir
	var text bytes.Buffer
	c.Stderr = &text
	out, err := c.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s", name, arguments[0], err, strings.TrimSpace(text.String()))
	}
	return out, nil
}
