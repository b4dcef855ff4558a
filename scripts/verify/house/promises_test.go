package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePromisesNameTheirTests: each promise of package store names tests that
// show it, and all of them exist.
func TestThePromisesNameTheirTests(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), "core/store/doc.go"), nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownBy(t)
	sections := strings.Split(file.Doc.Text(), "\n# ")
	if len(sections) != 4 {
		t.Fatalf("the package comment of core/store has %d sections, want its beginning and 3 of promises", len(sections))
	}
	tests := regexp.MustCompile(`[A-Z]\w+`)
	count := 0
	for _, section := range sections[1:] {
		title, _, _ := strings.Cut(section, "\n")
		for _, promise := range strings.Split(section, "\n  - ")[1:] {
			named := 0
			for _, group := range regexp.MustCompile(`\(([^)]*)\)`).FindAllStringSubmatch(promise, -1) {
				for _, name := range tests.FindAllString(group[1], -1) {
					if strings.Contains(group[1], "[") {
						continue // a list of types
					}
					if named++; !shown[name] {
						t.Errorf("%s: there is no test %s", title, name)
					}
				}
			}
			count += named
			if named == 0 && title != "What is not promised" {
				t.Errorf("%s: no test is named of: %s", title, promise)
			}
		}
	}
	if count < 40 {
		t.Errorf("the promises name %d tests: they are not found where they stand", count)
	}
}

// TestTheDocumentOfPromisesNamesItsTests: each promise of core/promises.md has a line of
// evidence with tests that exist.
func TestTheDocumentOfPromisesNamesItsTests(t *testing.T) {
	text := read(t, "core/promises.md")
	_, promised, _ := strings.Cut(text, "\n## Promised\n")
	promised, _, _ = strings.Cut(promised, "\n## ")
	_, evidence, found := strings.Cut(text, "\n## Evidence\n")
	promises := regexp.MustCompile(`(?m)^- \*\*([^*]+)\.\*\*`).FindAllStringSubmatch(promised, -1)
	if !found || len(promises) < 10 {
		t.Fatalf("core/promises.md has %d promises, want its sections Promised and Evidence", len(promises))
	}
	shown, rows := shownBy(t), map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|]+) \\| (`[^|]+`) \\|$").FindAllStringSubmatch(evidence, -1) {
		rows[row[1]] = true
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			if !shown[name[1]] {
				t.Errorf("%s: test %s does not exist", row[1], name[1])
			}
		}
	}
	for _, promise := range promises {
		if !rows[promise[1]] {
			t.Errorf("the promise %q has no tests under Evidence", promise[1])
		}
		delete(rows, promise[1])
	}
	for row := range rows {
		t.Errorf("the evidence %q has no promise", row)
	}
}

// shownBy lists all tests, and the clauses of storetest.
func shownBy(t *testing.T) map[string]bool {
	t.Helper()
	shown := map[string]bool{}
	test, clause := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`), regexp.MustCompile(`(?m)^\t\{"([A-Z]\w+)", `)
	err := filepath.WalkDir(root(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root(t) {
			return filepath.SkipDir
		}
		names := test
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case filepath.Ext(path) == ".go" && filepath.Base(filepath.Dir(path)) == "storetest":
			names = clause
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			shown[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return shown
}
