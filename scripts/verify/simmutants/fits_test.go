package main

import "testing"

// A planted error whose place has moved, or whose text does not compile any more, finds
// nothing: whoever moves it learns so here, and not when all of them are planted the next
// time.
func TestEveryMutantFitsTheSourceAndCompiles(t *testing.T) {
	t.Chdir("../../..")
	c, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.Name] {
			t.Errorf("%q is the name of two", m.Name)
		}
		seen[m.Name] = true
		files, err := m.apply()
		if err == nil {
			err = c.check(files)
		}
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

func TestAMutantThatDoesNotCompileIsFound(t *testing.T) {
	t.Chdir("../../..")
	c, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	m := mutant{File: "core/internal/thread/form.go", Old: "package thread", New: "package thread\n\nvar planted int = \"a text\""}
	files, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(files); err == nil {
		t.Error("a text compiles as an int")
	}
	if err := c.check(map[string]string{"scripts/verify/sim/main.go": ""}); err == nil {
		t.Error("a file outside of core is checked without an error")
	}
}
