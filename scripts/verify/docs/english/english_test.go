package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the numbers that have fallen")

func TestTheRules(t *testing.T) {
	tests := []struct {
		name, words string
		want        []string // what is found
	}{
		{"plain", "The client sends a message. The run continues.", nil},
		{"words", "Nobody goes on behind it.", []string{"Nobody", "behind", "goes on"}},
		{"parts of words", "Understand the outdoors.", nil},
		{"allowed", "The host runs behind API Gateway or behind a proxy. There is no limit. It is no longer open.", nil},
		{"a stand-in", "The test uses a stand-in.", nil},
		{"starts", "What a run returns is stored. Who asks?", []string{"What ..."}},
		{"an abbreviation", "Use a value, e.g. What you like.", nil},
		{"clauses", "It says what was asked and stands of its own.", []string{"stands", "of its own", "says what", "what was asked"}},
		{"another abbreviation", "Use a value, i.e. What you like.", nil},
		{"the end of a quoted sentence", "It prints \"done.\" What follows is new.", []string{"What ..."}},
		{"an attempt", "After a second try it fails, with no tries left.", []string{"no tries"}},
		{"thirty words", strings.Repeat("word ", 29) + "end.", nil},
		{"thirty-one words", strings.Repeat("word ", 30) + "end.", []string{strings.Repeat("word ", 30) + "end."}},
		{"two sentences", strings.Repeat("word ", 20) + "end. " + strings.Repeat("word ", 20) + "end.", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var found []string
			for _, h := range check([]text{{words: test.words}}) {
				found = append(found, h.found)
			}
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCellsAreShorter(t *testing.T) {
	words := strings.Repeat("word ", 20)
	if hits := check([]text{{words: words, cell: true}}); len(hits) != 0 {
		t.Errorf("20 words in a cell: %v", hits)
	}
	if hits := check([]text{{words: words + "word", cell: true}}); len(hits) != 1 {
		t.Errorf("21 words in a cell: %v", hits)
	}
	if hits := check([]text{{words: words + words, long: true}}); len(hits) != 0 {
		t.Errorf("40 words in a comment: %v", hits)
	}
}

func TestGoIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	const file = `// Package a is read.
//
//	nobody.In(code)
package a

import "fmt"

// nobody is not exported.
const nobody = 1

// A is exported, [Nobody] and ` + "`nobody`" + ` are names.
type A struct {
	B int ` + "`json:\"nobody of these\"`" + ` // whatever
	c int // whoever
}

// hidden is somebody's.
func (a A) hidden() error { return fmt.Errorf("%s is left to somebody", "x") }

type hidden struct{}

// Close is for whoever calls it.
func (h *hidden) Close() {}

// Open is for anybody.
func (a *A) Open() {}
`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := goFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var docs, literals []string
	for _, h := range check(read.docs) {
		docs = append(docs, fmt.Sprint(h.line, " ", h.found))
	}
	for _, h := range check(read.literals) {
		literals = append(literals, fmt.Sprint(h.line, " ", h.found))
	}
	if diff := cmp.Diff([]string{"13 whatever", "25 anybody"}, docs); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"18 somebody", "18 left to"}, literals); diff != "" {
		t.Errorf("literals (-want +got):\n%s", diff)
	}
}

func TestOtherTextsAreRead(t *testing.T) {
	tests := []struct {
		name, source string
		read         func(string, []byte) []text
		want         []string
	}{
		{"openapi", `{"info":{"title":"An API","summary":"Nobody"},"get":{"description":"Send ` + "`whatever`" + `."}}`, openAPI,
			[]string{"1 An API", "1 Nobody", "1 Send CODE."}},
		{"template", "# A comment\nParameters:\n  A:\n    Description: A text\n    Default: whatever it is\n    ConstraintDescription: A limit\n    AlarmDescription: An alarm\n", template,
			[]string{"1 A comment", "4 A text", "6 A limit", "7 An alarm"}},
		{"makefile", "run: ## Run it\n# no text\n", makefile, []string{"1 Run it"}},
		{"page", "/* no\ntext */\n// no text of it\nconst a = 'a text', b = 'word';\nreturn <p class=\"x\">Another text</p>;\n", page, []string{"4 a text", "5 Another text"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, x := range test.read("", []byte(test.source)) {
				got = append(got, fmt.Sprint(x.line, " ", x.words))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
