package catalog

import (
	"bytes"
	_ "embed" // the built-in catalog
	"slices"
	"sync"
)

//go:embed catalog.json
var builtIn []byte

// lines is a catalog's text with one model a line, which is read without decoding it:
// decoding all of it would slow the start of a function that needs one. It is safe for
// concurrent use.
type lines struct {
	text  []byte
	known sync.Map // models that were found, by name
}

// named are the models of a name.
func (l *lines) named(name string) (found []entry) {
	if before, ok := l.known.Load(name); ok {
		return before.([]entry)
	}
	quoted := append(append([]byte{'"'}, name...), '"')
	for rest := l.text; ; {
		at := bytes.Index(rest, quoted)
		if at < 0 {
			break
		}
		begin := bytes.LastIndexByte(rest[:at], '\n') + 1
		line, behind, _ := bytes.Cut(rest[begin:], []byte{'\n'})
		rest = behind
		m, err := decode(line)
		if err == nil && slices.Contains(m.Names, name) { // a provider's name, or a source's
			found = append(found, m)
		}
	}
	if len(found) > 0 { // unknown names are unlimited in number
		l.known.Store(name, found)
	}
	return found
}

func (l *lines) sells(provider string) bool {
	return bytes.Contains(l.text, []byte(`{"provider": "`+provider+`", `))
}
