package catalog

import (
	"bytes"
	_ "embed" // the built-in catalog
	"slices"
	"sort"
	"sync"
)

//go:embed catalog.json
var builtIn []byte

// lines is a catalog's text with one model a line, those of a provider together, and the
// providers in order. It is read without decoding it: decoding all of it would slow the start
// of a function that needs one. It is safe for concurrent use.
type lines struct {
	text  []byte
	known sync.Map // models that were found, by provider and name
}

// of returns the provider's model of a name. It reads the lines of this provider alone: at a
// cold start each page of the text is read from disk.
func (l *lines) of(provider, name string) (m entry, ok bool) {
	key := provider + "\x00" + name
	if before, ok := l.known.Load(key); ok {
		return before.(entry), true
	}
	found := named(l.section(provider), name)
	if len(found) == 0 { // unknown names are unlimited in number
		return entry{}, false
	}
	l.known.Store(key, found[0])
	return found[0], true
}

// named are the models of a name, of all providers.
func (l *lines) named(name string) []entry { return named(l.text, name) }

func (l *lines) sells(provider string) bool { return len(l.section(provider)) > 0 }

// section returns the lines of a provider.
func (l *lines) section(provider string) []byte {
	if provider == "" {
		return nil
	}
	text := l.text[first(l.text, func(of string) bool { return of >= provider }):]
	return text[:first(text, func(of string) bool { return of > provider })]
}

// first returns where the first line begins whose provider passes, as all later ones do.
func first(text []byte, passes func(provider string) bool) int {
	return sort.Search(len(text), func(at int) bool { return passes(providerOf(text, at)) })
}

// last is after every provider.
const last = "\xff"

// providerOf returns the provider of the line at an offset; empty: it is the head of the file.
func providerOf(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	rest, row := bytes.CutPrefix(line, []byte(`{"provider":"`))
	if !row && bytes.HasPrefix(line, []byte("]")) {
		return last
	}
	end := bytes.IndexByte(rest, '"')
	if !row || end < 0 {
		return ""
	}
	return string(rest[:end])
}

// named returns the models of a name in lines.
func named(text []byte, name string) (found []entry) {
	quoted := append(append([]byte{'"'}, name...), '"')
	for rest := text; ; {
		at := bytes.Index(rest, quoted)
		if at < 0 {
			return found
		}
		begin := bytes.LastIndexByte(rest[:at], '\n') + 1
		line, behind, _ := bytes.Cut(rest[begin:], []byte{'\n'})
		rest = behind
		m, err := decode(line)
		if err == nil && slices.Contains(m.Names, name) { // a provider's name, or a successor
			found = append(found, m)
		}
	}
}
