package toolname_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolname"
)

// patterns are what a tool pattern is held to.
var patterns = []struct {
	pattern, name string
	want          bool
}{
	{`read`, `read`, true},
	{`read`, `Read`, false},
	{`read`, `read_file`, false},
	{`read`, `unread`, false},
	{`read`, ``, false},
	{`*`, ``, true},
	{`*`, `anything at all`, true},
	{`**`, ``, true},
	{`**`, `a`, true},
	{`mcp:*`, `mcp:`, true},
	{`mcp:*`, `mcp:github/search`, true},
	{`mcp:*`, `xmcp:a`, false},
	{`*_file`, `read_file`, true},
	{`*_file`, `_file`, true},
	{`*_file`, `read_files`, false},
	{`a*b`, `ab`, true},
	{`a*b`, `a/x:y_b`, true},
	{`a*b`, `ba`, false},
	{`a*a`, `a`, false},
	{`a*a`, `aa`, true},
	{`ab*ba`, `aba`, false},
	{`*a*b*`, `xaxxbx`, true},
	{`*a*b*`, `ba`, false},
	{`*ab*ab*`, `abab`, true},
	{`*ab*ab*`, `aab`, false},
	{`a*b*c`, `abbcbc`, true},
	{`a*bc*c`, `abcc`, true},
	{`a*bc*c`, `abc`, false},
	{`\*`, `*`, true},
	{`\*`, `a`, false},
	{`a\*b`, `axb`, false},
	{`a\*b`, `a*b`, true},
	{`\\`, `\`, true},
	{`\\*`, `\x`, true},
	{`\a`, `a`, true},
	{`a?c`, `abc`, false},
	{`a?c`, `a?c`, true},
	{`[ab]`, `a`, false},
	{`[ab]`, `[ab]`, true},
	{`{a,b}`, `a`, false},
	{`!a`, `b`, false},
	{`!a`, `!a`, true},
	{`ä*`, `äö`, true},
	{"a*", "a\nb", true},
}

func TestToolPatternsMatchWholeNames(t *testing.T) {
	for _, test := range patterns {
		p, err := toolname.Parse(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		if got := p.Match(test.name); got != test.want {
			t.Errorf("%q matches %q: %v, want %v", test.pattern, test.name, got, test.want)
		}
	}
	if (toolname.Pattern{}).Match("") {
		t.Error("the zero value matches")
	}
}

func TestToolPatternsThatAreNone(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"empty", ``, `pattern is empty`},
		{"a dangling backslash", `a\`, `pattern "a\\" ends in a single backslash, write \\ for one`},
		{"a dangling backslash behind a pair", `\\\`, `pattern "\\\\\\" ends in a single backslash, write \\ for one`},
		{"at the limit", strings.Repeat("a", 1024), `<nil>`},
		{"over the limit", strings.Repeat("a", 1025), `pattern has 1025 bytes, at most 1024 are allowed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolname.Parse(test.pattern)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q", core.CodeOf(err))
			}
		})
	}
}

func FuzzCatalogPattern(f *testing.F) {
	for _, test := range patterns {
		f.Add(test.pattern, test.name)
	}
	f.Add(`a\`, "a")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := toolname.Parse(pattern)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			return
		}
		if got, want := p.Match(name), reference(pattern).MatchString(latin(name)); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// reference is the pattern as a regular expression over bytes, of which [latin]
// makes characters.
func reference(pattern string) *regexp.Regexp {
	var expression strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch c {
		case '*':
			expression.WriteString(".*")
			continue
		case '\\':
			i++
			c = pattern[i]
		}
		expression.WriteString(regexp.QuoteMeta(latin(string([]byte{c}))))
	}
	return regexp.MustCompile(`(?s)\A` + expression.String() + `\z`)
}

func latin(text string) string {
	var characters strings.Builder
	for i := range len(text) {
		characters.WriteRune(rune(text[i]))
	}
	return characters.String()
}
