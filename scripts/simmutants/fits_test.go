package main

import "testing"

// A planted error whose place has moved finds nothing: whoever moves it learns so here,
// and not when all of them are planted the next time.
func TestEveryMutantFitsTheSource(t *testing.T) {
	t.Chdir("../..")
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.Name] {
			t.Errorf("%q is the name of two", m.Name)
		}
		seen[m.Name] = true
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
