package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A pointer of "Where to look": a file as a link to it, then names that it declares, up to
// the colon.
var pointer = regexp.MustCompile("^- \\[`([\\w/.]+\\.go)`\\]\\(([\\w/.]+\\.go)\\)((?:(?:, | and )[\\w.]+)*):")

// TestQuestionsAreAnsweredInThreeFiles checks core/README.md's answers to the twelve questions
// that newcomers ask first: each names at most three files, which exist and declare the named
// functions and types.
func TestQuestionsAreAnsweredInThreeFiles(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "core/README.md"), "\n## Where to look\n")
	text, _, _ = strings.Cut(text, "\n## ")
	questions := strings.Split(text, "\n### ")[1:]
	if len(questions) != 12 {
		t.Errorf("core/README.md answers %d questions, want 12", len(questions))
	}
	for _, answer := range questions {
		question, lines, _ := strings.Cut(answer, "\n")
		files := 0
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			m := pointer.FindStringSubmatch(line)
			switch {
			case m != nil:
				files++
				checkPointer(t, question, m[1], m[2], m[3])
			case line != "":
				t.Errorf("%q: the line %q does not start with a file and its declarations", question, line)
			}
		}
		if !strings.HasSuffix(question, "?") || files == 0 || files > 3 {
			t.Errorf("%q names %d files, want a question and 1 to 3 files", question, files)
		}
	}
}

// checkPointer checks that the link of a pointer leads to its file, and that the file declares
// the names.
func checkPointer(t *testing.T, question, file, link, names string) {
	t.Helper()
	if at := filepath.ToSlash(filepath.Join("core", link)); at != file {
		t.Errorf("%q: %s links to %s", question, file, at)
	}
	declared := declaredIn(t, file)
	for _, name := range strings.FieldsFunc(strings.ReplaceAll(names, " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' }) {
		if !declared[name] {
			t.Errorf("%q: %s does not declare %s", question, file, name)
		}
	}
}

// declaredIn returns what a file declares: functions, types, constants and variables by
// their names, methods as Type.method too.
func declaredIn(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), name), nil, parser.ParseComments)
	if err != nil {
		t.Errorf("core/README.md names %s: %v", name, err)
		return nil
	}
	declared := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = true
			if d.Recv != nil {
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if ident, ok := of.(*ast.Ident); ok {
					declared[ident.Name+"."+d.Name.Name] = true
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declared[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						declared[n.Name] = true
					}
				}
			}
		}
	}
	return declared
}
