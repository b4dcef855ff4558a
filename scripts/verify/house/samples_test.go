package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Samples are the indented blocks of Go in the doc comments of every package that can be
// imported. Blocks of *.md are pieces of tested files instead. Each sample compiles:
//
//   - What it names of packages is imported. A name that two packages have is the one that
//     is nearest: of this module before others, of the sample's own folder before all.
//   - Declarations and statements may be mixed. A line "..." stands for more of them, and
//     so does a body "{ ... }".
//   - What it names and does not declare, such as a ctx or a tool of the reader's own, is
//     declared in testdata/samples.txt, for all samples or for those of a package.
//   - What a fragment cannot have is not asked for: that variables are used, and that what
//     it returns fits.

// sample is one block.
type sample struct {
	room string // of whose documents it is
	at   string // file and line
	text string
}

// signs tell Go from other indented text.
var signs = regexp.MustCompile(`(?m):= |^(func|var|type|const|return|package|import) |^\s*if err |\b[a-z]\w*\.[A-Z]\w*[({\[]`)

// tables are blocks that look like Go and are not: by their first line.
var tables = []string{`Counter("n", scope)           a sum; an update is added`}

// docSamples are the samples of doc comments.
func docSamples(t *testing.T, all []pkg) (found []sample) {
	t.Helper()
	for _, p := range all {
		if !importable(p) {
			continue
		}
		if _, err := os.ReadDir(p.Dir); err != nil { // so that go test's cache sees a new file
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("//\t")) {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range docs(file) {
				for _, block := range (&comment.Parser{}).Parse(doc.Text()).Content {
					code, ok := block.(*comment.Code)
					if !ok || !signs.MatchString(code.Text) || slices.ContainsFunc(tables, func(t string) bool { return strings.HasPrefix(code.Text, t) }) {
						continue
					}
					found = append(found, sample{p.room(), fmt.Sprintf("%s/%s:%d", p.room(), name, fset.Position(doc.Pos()).Line), code.Text})
				}
			}
		}
	}
	return found
}

// importable reports whether programs of other modules can import the package.
func importable(p pkg) bool {
	return p.Name != "main" && strings.HasPrefix(p.ImportPath, module) && !slices.Contains(strings.Split(p.room(), "/"), "internal") && floor(p.room()) != floor("scripts")
}

// docs are the doc comments of a file.
func docs(file *ast.File) (all []*ast.CommentGroup) {
	ast.Inspect(file, func(n ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := n.(type) {
		case *ast.File:
			doc = n.Doc
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.FuncDecl:
			doc = n.Doc
		case *ast.TypeSpec:
			doc = n.Doc
		case *ast.ValueSpec:
			doc = n.Doc
		case *ast.Field:
			doc = n.Doc
		case *ast.BlockStmt:
			return false
		}
		if doc != nil {
			all = append(all, doc)
		}
		return true
	})
	return all
}

func TestSamplesCompile(t *testing.T) {
	all := list(t, "-export", "-deps", "./core/...", "./adapters/...", "./functions/...")
	c := newCompiler(all, read(t, "scripts/verify/house/testdata/samples.txt"))
	found := docSamples(t, all)
	if len(found) < 25 {
		t.Errorf("found %d samples, want 25 at least: are they looked for where they are?", len(found))
	}
	for _, s := range found {
		for _, err := range c.check(s) {
			t.Errorf("%s: %v, in the sample\n%s", s.at, err, s.text)
		}
	}
	for room, names := range c.declared {
		for name := range names {
			if !c.used[room+" "+name] {
				t.Errorf("testdata/samples.txt declares %s for %s, which no sample names", name, room)
			}
		}
	}
}

func TestWhatIsWrongWithASampleIsFound(t *testing.T) {
	all := list(t, "-export", "-deps", "./core/...")
	c := newCompiler(all, "-- all --\nvar ctx context.Context\n-- core/agent --\nvar tools []tool.Tool\n")
	tests := []struct {
		name, text string
		want       []string
	}{
		{"statements", "x, err := specfile.Load(nil)\nif err != nil {\n\treturn x, err\n}\n...\n", nil},
		{"declarations and statements", "var count = state.Counter(\"n\", state.ScopeRun)\n\nupdate := count.Update(1)\n\nfunc (mine) Register(r *plugin.Registrar) error { ... }\ntype mine struct{}\n", nil},
		{"an expression", "agent.Spec{\n\tID: \"a\",\n}\n", nil},
		{"a member", "Sections: plugin.Sections(),\n", nil},
		{"a file", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n", nil},
		{"a name of the table", "tools = append(tools, tool.New(tool.Spec{}, run))\nfunc run(ctx context.Context, call tool.Call, a struct{}) (string, error) { ... }\n_, err := tools[0].Run(ctx, tool.Call{})\n", nil},
		{"arguments of another form", "t := tool.New(\"weather\", \"Tells it.\", nil)\n", []string{"too many arguments in call to tool.New"}},
		{"a name that is gone", "specfile.Play(nil)\n", []string{"undefined: specfile.Play"}},
		{"a field that is gone", "agent.Parts{Agents: nil}\n", []string{"unknown field Agents in struct literal of type agent.Parts"}},
		{"an undeclared name", "reveille.New(parts, nil)\n", []string{"undefined: parts, which neither the sample nor testdata/samples.txt declares"}},
		{"an unknown package", "vendor.New(1)\n", []string{"undefined: vendor, which neither the sample nor testdata/samples.txt declares"}},
		{"a syntax error", "agent.Spec{ID: \"a\"\n", []string{"missing ',' before newline in composite literal"}},
		{"an internal package", "window.Tokens(core.Message{})\n", []string{"undefined: window, which neither the sample nor testdata/samples.txt declares"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range c.check(sample{room: "core/agent", text: test.text}) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
