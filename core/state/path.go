package state

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// KeyPath is the place of a value in the state of a thread. As text it is the JSON pointer
// "/thread/KEY", "/run/KEY" or "/call/INDEX/KEY". So a reader knows which values end with a
// run or a step without the code that declared the key.
type KeyPath struct {
	Scope Scope
	Call  int // index of the tool call in its turn, from 0; 0 for other scopes
	Name  string
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// String returns the path as a JSON pointer.
func (p KeyPath) String() string {
	name := escaper.Replace(p.Name)
	switch p.Scope {
	case ScopeThread:
		return "/thread/" + name
	case ScopeCall:
		return "/call/" + strconv.Itoa(p.Call) + "/" + name
	default:
		return "/run/" + name
	}
}

// MarshalText implements encoding.TextMarshaler, so that paths can be members
// of a JSON object.
func (p KeyPath) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A text that names no
// whole value is an error with code [core.CodeCorrupt].
func (p *KeyPath) UnmarshalText(text []byte) error {
	key, inside, err := parsePointer(string(text))
	if err != nil {
		return err
	}
	if len(inside) > 0 {
		return core.Errorf(core.CodeCorrupt, "path %q points into the value of a state key", core.Excerpt(string(text)))
	}
	*p = key
	return nil
}

// Compare orders paths: thread, run, calls by index, then by name.
func (p KeyPath) Compare(q KeyPath) int {
	return cmp.Or(cmp.Compare(p.rank(), q.rank()), cmp.Compare(p.Call, q.Call), cmp.Compare(p.Name, q.Name))
}

func (p KeyPath) rank() int {
	switch p.Scope {
	case ScopeThread:
		return 0
	case ScopeRun:
		return 1
	default:
		return 2
	}
}

// parsePointer splits a pointer into the key that it names and the tokens that
// lead into the key's value.
func parsePointer(pointer string) (KeyPath, []string, error) {
	bad := func(why string) (KeyPath, []string, error) {
		return KeyPath{}, nil, core.Errorf(core.CodeCorrupt, "path %q of a state patch %s", core.Excerpt(pointer), why)
	}
	if !utf8.ValidString(pointer) {
		return bad("is not UTF-8")
	}
	rest, found := strings.CutPrefix(pointer, "/")
	if !found {
		return bad("does not begin with a slash")
	}
	tokens := strings.Split(rest, "/")
	for i, token := range tokens {
		if !strings.Contains(token, "~") {
			continue
		}
		if strings.Count(token, "~") != strings.Count(token, "~0")+strings.Count(token, "~1") {
			return bad("has a tilde that escapes nothing")
		}
		tokens[i] = unescaper.Replace(token)
	}
	var key KeyPath
	switch tokens[0] {
	case "thread":
		key.Scope = ScopeThread
	case "run":
		key.Scope = ScopeRun
	case "call":
		key.Scope = ScopeCall
		if len(tokens) < 3 {
			return bad("names no key")
		}
		call, ok := parseIndex(tokens[1])
		if !ok {
			return bad("has no call index")
		}
		key.Call, tokens = call, tokens[1:]
	default:
		return bad("has no scope")
	}
	if len(tokens) < 2 || tokens[1] == "" {
		return bad("names no key")
	}
	key.Name = tokens[1]
	return key, tokens[2:], nil
}

// parseIndex reads an index as JSON pointers spell it: digits without a
// leading zero.
func parseIndex(token string) (int, bool) {
	const digits = 9 // more would not be the index of anything that fits a record
	if token == "" || len(token) > digits || len(token) > 1 && token[0] == '0' {
		return 0, false
	}
	n := 0
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return 0, false
		}
		n = n*10 + int(token[i]-'0')
	}
	return n, true
}

// extend adds a token to a pointer.
func extend(pointer, token string) string { return pointer + "/" + escaper.Replace(token) }
