package main

import (
	"go/importer"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source returns the mutants of a file that declares what the snippets use.
func source(t *testing.T, snippet string) (compiling []string) {
	t.Helper()
	const world = `package p
type pair struct{ a, b int }
func number() int { panic("") }
func yes() bool { panic("") }
func act() { panic("") }
func fail() error { panic("") }
func f(x, y int, p, q bool, s []int, e error) (_ int, _ error) {
`
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte(world+snippet+"\nreturn\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := &unit{path: "p", name: "p", importer: importer.Default()}
	c, err := parse(token.NewFileSet(), u, file)
	if err != nil {
		t.Fatal(err)
	}
	u.files = []*code{c}
	all, err := u.mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.where == "f" && m.before != "return" && m.compiles() {
			compiling = append(compiling, m.operator+": "+m.after)
		}
	}
	return compiling
}

func TestOperators(t *testing.T) {
	tests := []struct {
		name, snippet string
		want          []string
	}{
		{"a comparison", "_ = x < y", []string{"drop: if false { _ = x < y }", "negate: _ = x >= y", "boundary: _ = x <= y"}},
		{"a call as a condition", "if yes() {\n}", []string{"negate: if !yes() {"}},
		{"a negated condition", "if !p {\n}", []string{"negate: if p {"}},
		{"operands keep what they use in use", "if err := fail(); p && err == nil {\n}", []string{
			"swap: if err := fail(); p || err == nil {",
			"negate: if err := fail(); !p && err == nil {",
			"operand: if err := fail(); (p || true) && err == nil {",
			"operand: if err := fail(); p && (err == nil || true) {",
			"negate: if err := fail(); p && err != nil {",
		}},
		{"a chain loses one operand at a time", "_ = p || q || yes()", []string{
			"drop: if false { _ = p || q || yes() }",
			"swap: _ = p || q && yes()", "negate: _ = p || q || !yes()", "operand: _ = p || q || (yes() && false)",
			"swap: _ = p && q || yes()",
			"negate: _ = !p || q || yes()", "operand: _ = (p && false) || q || yes()",
			"negate: _ = p || !q || yes()", "operand: _ = p || (q && false) || yes()",
		}},
		{"arithmetic", "x = x + 2", []string{
			"drop: if false { x = x + 2 }", "operand: x = x", "operand: x = 2", "integer: x = x + 3", "integer: x = x + 1",
		}},
		{"a subtraction keeps its sign", "x -= y - x", []string{"drop: if false { x -= y - x }", "operand: x -= y"}},
		{"statements over several lines", "act() // why\ns[0] =\n\tx", []string{
			"drop: if false { act() }", "drop: if false { s[0] = x }", "integer: s[1] =",
		}},
		{"a definition stays", "z := number()\nx = z", []string{"drop: if false { x = z }"}},
		{"an early return", "if p {\nreturn x, fail()\n}", []string{"negate: if !p {", "drop: if false { return x, fail() }"}},
		{"leaving a loop", "for range s {\nif p {\nbreak\n}\ncontinue\n}", []string{
			"negate: if !p {", "drop: if false { break }", "drop: if false { continue }",
		}},
		{"a deferred call", "defer act()", []string{"drop: if false { defer act() }"}},
		{"a boolean literal", "p = true", []string{"drop: if false { p = true }", "bool: p = false"}},
		{"room in a slice and a map", "_ = make([]int, x, 7)\n_ = make(map[int]int, 7)", []string{
			"drop: if false { _ = make([]int, x, 7) }", "drop: if false { _ = make(map[int]int, 7) }",
		}},
		{"cases with values", "switch x {\ncase y, number():\ncase len(s):\n}", []string{
			"case: case number():", "case: case y:", "case: ",
		}},
		{"cases with conditions, and a default", "switch {\ncase p:\ndefault:\nact()\n}", []string{
			"negate: case !p:", "case: case false && (p):", "case: ", "drop: if false { act() }",
		}},
		{"types", "switch any(e).(type) {\ncase error, int:\n}", []string{"case: case int:", "case: case error:"}},
		{"fields", "_ = pair{a: x, b: y}", []string{
			"drop: if false { _ = pair{a: x, b: y} }", "field: _ = pair{ b: y}", "field: _ = pair{a: x}",
		}},
		{"fields on lines", "_ = pair{\n\ta: x,\n\tb: y, // last\n}", []string{
			"drop: if false { _ = pair{ a: x, b: y, } }", "field: ", "field: ",
		}},
		{"a slice has no fields", "s = []int{x, y}", []string{"drop: if false { s = []int{x, y} }"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, source(t, tt.snippet)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
