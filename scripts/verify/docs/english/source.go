package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// document returns the texts of a file of Markdown.
func document(path string) (all []text, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, p := range markdown.Parse(source).Prose {
		all = append(all, text{file: path, line: p.Line, words: p.Text, heading: p.Heading, cell: p.Cell})
	}
	return all, nil
}

// source is what a file of Go says: to those who read its documentation, and to those who
// read its errors, logs and help.
type source struct {
	docs     []text // the package's comment and those of exported names, their fields and methods
	literals []text // string literals with a blank, but for tags and imports
}

// goFile reads a file of Go that is not a test.
func goFile(path string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	r := goReader{set: set, path: path}
	r.doc("", file.Doc)
	for _, d := range file.Decls {
		r.declaration(d)
	}
	ast.Inspect(file, r.literal)
	return r.source, nil
}

type goReader struct {
	set    *token.FileSet
	path   string
	source source
}

// code is what a comment shows as code: a block that is indented, links and quoted names.
var (
	indented = regexp.MustCompile(`(?m)^(?:\t| {2,}).*$`)
	listed   = regexp.MustCompile(`(?m)^ *(?:-|\d+\.) +`)
	quoted   = regexp.MustCompile("`[^`]*`|\\[[A-Za-z0-9_.*]+\\]")
)

// doc reads the comments on a name. A comment may begin with the name, such as Behind.
func (r *goReader) doc(name string, comments ...*ast.CommentGroup) {
	for _, c := range comments {
		if c == nil {
			continue
		}
		words := listed.ReplaceAllString(strings.TrimPrefix(c.Text(), name+" "), "\n")
		words = indented.ReplaceAllString(words, "")
		words = quoted.ReplaceAllString(words, "CODE")
		line := r.set.Position(c.Pos()).Line
		for _, paragraph := range strings.Split(words, "\n\n") {
			r.source.docs = append(r.source.docs, text{file: r.path, line: line, words: paragraph, long: true,
				heading: strings.HasPrefix(paragraph, "# ")})
		}
	}
}

func (r *goReader) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
			r.doc(d.Name.Name, d.Doc)
		}
	case *ast.GenDecl:
		for i, s := range d.Specs {
			if exportedSpec(s) {
				if i == 0 || d.Lparen == token.NoPos {
					r.doc(nameOf(s), d.Doc)
				}
				r.spec(s)
			}
		}
	}
}

func (r *goReader) spec(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		r.doc(nameOf(s), s.Doc, s.Comment)
	case *ast.TypeSpec:
		r.doc(nameOf(s), s.Doc, s.Comment)
		switch typ := s.Type.(type) {
		case *ast.StructType:
			r.fields(typ.Fields)
		case *ast.InterfaceType:
			r.fields(typ.Methods)
		}
	}
}

func (r *goReader) fields(list *ast.FieldList) {
	for _, f := range list.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			name := ""
			if len(f.Names) > 0 {
				name = f.Names[0].Name
			}
			r.doc(name, f.Doc, f.Comment)
		}
	}
}

// nameOf is the first name that a specification declares.
func nameOf(s ast.Spec) string {
	switch s := s.(type) {
	case *ast.ValueSpec:
		return s.Names[0].Name
	case *ast.TypeSpec:
		return s.Name.Name
	}
	return ""
}

// verbs are the places of values in a format.
var verbs = regexp.MustCompile(`%[-+# 0]*[\d*]*(?:\.\d+)?(?:\[\d+\])?[a-zA-Z]`)

func (r *goReader) literal(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		if n.Tag != nil {
			n.Tag = nil
		}
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return false
		}
		words, err := strconv.Unquote(n.Value)
		if err == nil && strings.Contains(strings.TrimSpace(words), " ") {
			words = quoted.ReplaceAllString(verbs.ReplaceAllString(words, "VALUE"), "CODE")
			r.source.literals = append(r.source.literals, text{file: r.path, line: r.set.Position(n.Pos()).Line, words: words, long: true})
		}
	}
	return true
}

func exportedSpec(s ast.Spec) bool {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name.IsExported()
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				return true
			}
		}
	}
	return false
}

func exportedReceiver(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// folder calls f with each file under a folder that is not generated, hidden, data of tests
// or the code of others.
func folder(root string, f func(path string) error) error {
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") && name != ".github" || name == "testdata" || name == "node_modules" || name == "packages"):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		return f(path)
	})
}
