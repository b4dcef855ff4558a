package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

const module = "github.com/reveille-run/reveille"

// source is what the text of packages says of their types.
type source struct {
	root     string
	packages map[string]*texts // by import path
}

// texts are one package's.
type texts struct {
	types  map[string]string   // doc comments by name of type
	fields map[string]string   // comments by "Type.Field"
	values map[string][]string // string constants by name of their type, in order
}

// of reads the package of a type, once.
func (s *source) of(t reflect.Type) (*texts, error) {
	path := t.PkgPath()
	if got := s.packages[path]; got != nil {
		return got, nil
	}
	folder, ours := strings.CutPrefix(path, module)
	if !ours {
		return nil, fmt.Errorf("%s is of another module", t)
	}
	files, err := filepath.Glob(filepath.Join(s.root, folder, "*.go")) // sorted
	if err != nil {
		return nil, err
	}
	got := &texts{types: map[string]string{}, fields: map[string]string{}, values: map[string][]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if general, ok := d.(*ast.GenDecl); ok {
				got.add(general)
			}
		}
	}
	s.packages[path] = got
	return got, nil
}

// add notes the types and string constants of a declaration.
func (t *texts) add(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			t.types[spec.Name.Name] = comment(spec.Doc, d.Doc)
			if shape, ok := spec.Type.(*ast.StructType); ok {
				t.addFields(spec.Name.Name, shape)
			}
		case *ast.ValueSpec:
			kind, ok := spec.Type.(*ast.Ident)
			if !ok || d.Tok != token.CONST || len(spec.Values) != 1 {
				continue
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil && value != "" {
					t.values[kind.Name] = append(t.values[kind.Name], value)
				}
			}
		}
	}
}

func (t *texts) addFields(of string, shape *ast.StructType) {
	for _, field := range shape.Fields.List {
		for _, name := range field.Names {
			t.fields[of+"."+name.Name] = comment(field.Doc, field.Comment)
		}
	}
}

var reference = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// comment is the first comment that is there, in one line, without Go's links.
func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return reference.ReplaceAllString(text, "$1")
		}
	}
	return ""
}
