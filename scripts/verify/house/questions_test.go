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

// A pointer of "Where to look": a file, then names that it declares, up to the colon.
var pointer = regexp.MustCompile(`^//   - ([\w/.]+\.go)((?:(?:, | and )[\w.]+)*):`)

// TestQuestionsAreAnsweredInThreeFiles holds core/doc.go to what it says of the questions
// that newcomers ask first: there are twelve, each with at most three files, which exist and
// declare what they are named for.
func TestQuestionsAreAnsweredInThreeFiles(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "core/doc.go"), "// # Where to look")
	questions, files, question := 0, 0, ""
	closed := func() {
		if question != "" && (files == 0 || files > 3) {
			t.Errorf("%q is answered in %d files, want 1 to 3", question, files)
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, "?") && !strings.HasPrefix(line, "//  ") {
			closed()
			questions, files, question = questions+1, 0, strings.TrimPrefix(line, "// ")
			continue
		}
		m := pointer.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "//   - ") {
				t.Errorf("%q does not begin with a file and what it declares", line)
			}
			continue
		}
		files++
		declared := declaredIn(t, m[1])
		for _, name := range strings.FieldsFunc(strings.ReplaceAll(m[2], " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' }) {
			if !declared[name] {
				t.Errorf("%q: %s does not declare %s", question, m[1], name)
			}
		}
	}
	closed()
	if questions < 12 {
		t.Errorf("%d questions, want 12 or more", questions)
	}
}

// declaredIn returns what a file declares: functions, types, constants and variables by
// their names, methods as Type.method too.
func declaredIn(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), name), nil, parser.ParseComments)
	if err != nil {
		t.Errorf("core/doc.go names %s: %v", name, err)
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
