package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// builtins are the names that mean something else when no receiver is in front of them.
var builtins = []string{
	"append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new", "panic", "print",
	"println", "real", "recover",
}

// builtinMethods lists the methods of the whole module that are named like a builtin.
func builtinMethods(t *testing.T) (all []string) {
	t.Helper()
	sources(t, "./...", func(room, name string, _ *token.FileSet, file *ast.File, _ []byte) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && slices.Contains(builtins, f.Name.Name) {
				all = append(all, room+"/"+name+" "+f.Name.Name)
			}
		}
	})
	return all
}

// homes are the verbs that once meant five things, and the one package whose functions
// may begin with each: one verb, one thing. No home: no function may.
var homes = map[string]string{
	"leave":  "",                         // a claim, a slot, a pool's member, a list: say which, such as release
	"settle": "core/internal/accounting", // what an end costs
	"take":   "core/internal/thread",     // a claim
	"tell":   "core/mailbox",             // whoever waits for a run of its news
}

// strays counts the functions and methods of core whose name begins with a verb that has
// its home elsewhere. To take up is a verb of its own: a run that has ended with an error is
// taken up again.
func strays(core []typed, verb string) (count int) {
	for _, p := range core {
		if p.room == homes[verb] {
			continue
		}
		for _, file := range p.files {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && firstWord(f.Name.Name) == verb && !strings.EqualFold(f.Name.Name, "takeUp") {
					count++
				}
			}
		}
	}
	return count
}

// firstWord is the first word of a name in camel case, in lower case.
func firstWord(name string) string {
	end := strings.IndexFunc(name[1:], unicode.IsUpper)
	if end < 0 {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:end+1])
}

// talk counts the lines of a package that hold nothing but a comment, and those with code.
// An empty line is neither, and a line with code and a comment is code.
func (p typed) talk() (comment, code int) {
	for _, text := range p.text {
		for line := range strings.Lines(string(text)) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "//"):
				comment++
			case line != "":
				code++
			}
		}
	}
	return comment, code
}
