package main

import (
	"path"
	"strings"
)

// makeNamed makes the mutants of named.txt, whose operator is a name that describes the
// error. stale are those whose line is missing or occurs twice, or that do not compile.
func makeNamed(entries map[identity]string, units []*unit) (named []*mutant, stale []identity) {
	for id := range entries {
		found := false
		for _, u := range units {
			if u.name != path.Dir(id.file) {
				continue
			}
			if m, ok := u.find(id); ok && m.compiles() {
				named, found = append(named, m), true
			}
		}
		if !found {
			stale = append(stale, id)
		}
	}
	return named, stale
}

// find makes a mutant of an entry, by the one line of the function that reads so.
func (u *unit) find(id identity) (m *mutant, ok bool) {
	for _, c := range u.files {
		if c.path != id.file {
			continue
		}
		for where, d := range c.declarations() {
			if where != id.where {
				continue
			}
			at := c.offset(d.Pos())
			for line := range strings.Lines(c.bare[at:c.offset(d.End())]) {
				if fold(line) == id.before {
					if ok {
						return nil, false
					}
					m = &mutant{identity: id, code: c, named: true, edit: edit{at, at + len(strings.TrimRight(line, "\n")), id.after}}
					m.line = 1 + strings.Count(c.text[:at], "\n")
					ok = true
				}
				at += len(line)
			}
		}
	}
	return m, ok
}
