package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestTheGlossaryNamesWhatExists looks up each name that core/doc.go gives for a word.
func TestTheGlossaryNamesWhatExists(t *testing.T) {
	exported := map[string]bool{} // "thread.Head", and "Run" of package core
	sources(t, "./core/...", func(room, _ string, _ *token.FileSet, file *ast.File, _ []byte) {
		in := strings.TrimPrefix(room, "core")
		in = in[strings.LastIndex(in, "/")+1:]
		note := func(name string) {
			if in != "" {
				name = in + "." + name
			}
			exported[name] = true
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					note(d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						note(s.Name.Name)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							note(name.Name)
						}
					}
				}
			}
		}
	})
	_, words, _ := strings.Cut(read(t, "core/doc.go"), "// # Words")
	words, _, _ = strings.Cut(words, "\npackage core")
	names := regexp.MustCompile(`\[([A-Z]\w+)\]|\b([a-z]+\.[A-Z]\w+)`).FindAllStringSubmatch(words, -1)
	if len(names) < 50 {
		t.Errorf("%d names in the glossary, want 50 or more", len(names))
	}
	for _, m := range names {
		if !exported[m[1]+m[2]] {
			t.Errorf("core/doc.go names %s, which does not exist", m[1]+m[2])
		}
	}
}
