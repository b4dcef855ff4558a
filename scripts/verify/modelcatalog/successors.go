package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// succeed sets the successors of retired models: one that a source names, if it is there and
// not retired itself, else the newest of the family.
func (m *merge) succeed() {
	for _, r := range ordered(m.all) {
		r.Successor = m.successor(r, r.Successor)
	}
}

func (m *merge) successor(r *row, named string) string {
	if r.Retired == "" {
		return ""
	}
	for range 5 { // successors have successors
		next := m.all[key{r.Provider, named}]
		if next == nil {
			break
		}
		if next.Retired == "" {
			return named
		}
		named = next.Successor
	}
	newest := ""
	for k, other := range ordered(m.all) {
		if k.provider == r.Provider && other.Retired == "" && family(other) == family(r) && newer(k.name, r.Names[0]) && newer(k.name, newest) {
			newest = k.name
		}
	}
	return newest
}

// numbers are the versions in a name: 4.20 is before 4.3.
var numbers = regexp.MustCompile(`\d+(\.\d+)?`)

// words are the parts of a name without digits, vendors and forms of a release.
var words = regexp.MustCompile(`[a-z]{2,}`)

// family is the set of words in the name of a model, such as claude and opus.
func family(r *row) string {
	all := words.FindAllString(r.undated(), -1)
	all = slices.DeleteFunc(all, func(w string) bool { return w == "preview" || w == "latest" })
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// newer reports whether the numbers in a name are higher than those in another. Of two names
// with the same numbers the shorter one is newer, if the other is none of a model to replace.
func newer(name, than string) bool {
	if order := slices.Compare(version(name), version(than)); order != 0 {
		return order > 0
	}
	return dated.ReplaceAllString(name, "") != dated.ReplaceAllString(than, "") && (len(name) < len(than) || len(name) == len(than) && name < than)
}

// version are the numbers in a name without its date.
func version(name string) (all []float64) {
	for _, number := range numbers.FindAllString(dated.ReplaceAllString(region.ReplaceAllString(name, ""), ""), -1) {
		n, _ := strconv.ParseFloat(number, 64)
		all = append(all, n)
	}
	return all
}
