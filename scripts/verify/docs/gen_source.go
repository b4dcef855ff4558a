package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// constant is a constant of the source, with its comment in one line.
type constant struct{ name, value, comment string }

// sourceFile parses a file of the repository, with its comments.
func sourceFile(root, path string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
}

// constants returns the string constants of a type, in their order in the file.
func constants(file *ast.File, kind string) (all []constant, err error) {
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, s := range block.Specs {
			spec := s.(*ast.ValueSpec)
			if named, ok := spec.Type.(*ast.Ident); !ok || named.Name != kind || len(spec.Values) != 1 {
				continue
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return nil, fmt.Errorf("constant %s is not a literal", spec.Names[0].Name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				return nil, err
			}
			c := constant{spec.Names[0].Name, value, comment(spec.Doc, spec.Comment)}
			if c.comment == "" {
				return nil, fmt.Errorf("constant %s has no comment", c.name)
			}
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no constants of type %s", file.Name, kind)
	}
	return all, nil
}

// structure returns the fields of a type.
func structure(file *ast.File, name string) ([]*ast.Field, error) {
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.TYPE {
			continue
		}
		for _, s := range block.Specs {
			if spec := s.(*ast.TypeSpec); spec.Name.Name == name {
				if shape, ok := spec.Type.(*ast.StructType); ok {
					return shape.Fields.List, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s has no struct %s", file.Name, name)
}

var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// comment returns the first comment with text, in one line. Go's links become code.
func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return docLink.ReplaceAllString(text, "`$1`")
		}
	}
	return ""
}
