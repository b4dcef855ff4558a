package pattern_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

func TestToolPatternWildcards(t *testing.T) {
	for _, tt := range []struct {
		glob, text string
		want       bool
	}{
		{"rm *", "rm -rf /tmp/x", true},
		{"curl *", "curl http://a/b", true},
		{"git commit *", "git commit -m 'a/b'", true},
		{"*rm -rf*", "cd /tmp && rm -rf x", true},
		{"*.rs", "src/main.rs", true},
		{"npm * --save", "npm i a/b --save", true},
		{"*permission denied*", "/etc/x: permission denied", true},
		{"src/**", "src/a/b.rs", true},
		{"src/**/*.rs", "src/a/b.rs", true},
		{"src/**/*.rs", "src/b.rs", false}, // ** is *, both slashes must be there
		{"**/*.env", "a/.env", true},
		{"?", "/", true},
		{"{a,b}", "a", false},
		{"{a,b}", "{a,b}", true},
		{"!rm", "ls", false},
		{"!rm", "!rm", true},

		{"*", "", true},
		{"*", "a\nb\x00c", true},
		{"", "", true},
		{"", "a", false},
		{"rm *", "rm", false},
		{"rm *", "RM x", false},
		{"rm *", "rm\tx", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "abab", true},
		{"*ab?", "abaabc", true},
		{"a*b?c*d", "a b bxc d", true},
		{"a*b?c*d", "a bc d", false},
		{"?", "", false},
		{"?", "é", true},
		{"?", "e\u0301", false}, // two characters
		{"é", "e\u0301", false},
		{"??", "e\u0301", true},
		{"?", "\xff", true},
		{"\ufffd", "\xff", false},
		{"[\ufffd]", "\xff", false},
		{"?\ufffd", "a\xff", false},
		{"[!a]", "\xff", true},
		{"[abc]x", "bx", true},
		{"[a-c]", "c", true},
		{"[a-c]", "d", false},
		{"[!a-c]", "d", true},
		{"[^a-c]", "a", false},
		{"[!a]", "/", true},
		{"[!a]", "", false},
		{"a*??", "ab", false},
		{"a*??", "abc", true},
		{"[]]", "]", true},
		{"[!]]", "]", false},
		{"[]-a]", "^", true},
		{"[a-]", "-", true},
		{"[-a]", "-", true},
		{"[à-ü]", "é", true},
		{"[*]", "*", true},
		{"[*]", "x", false},
		{"[[]x]", "[x]", true},
		{"[(]", "(", true},
		{`C:\Users\x*`, `C:\Users\xy`, true},
		{`C:\Users[\]*`, `C:\Users\xy`, true},
		{`[\]]`, `\]`, true},
	} {
		text, err := pattern.NewText(pattern.Glob, tt.glob)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := text.Match(tt.text); got != tt.want {
			t.Errorf("%q of %q: %v, want %v", tt.glob, tt.text, got, tt.want)
		}
		if got := naive([]rune(tt.glob), characters(tt.text)); got != tt.want {
			t.Errorf("%q of %q: the reference says %v, want %v", tt.glob, tt.text, got, tt.want)
		}
	}
}

// The stars of a glob do not multiply the time that it takes: with backtracking to
// more than the last one, none of these would end.
func TestGlobsDoNotBacktrack(t *testing.T) {
	long := strings.Repeat("a", 64<<10)
	for _, glob := range []string{
		strings.Repeat("a*", 500) + "b*",
		strings.Repeat("*?a", 300) + "*b*",
		strings.Repeat("*[ab]", 200) + "*b*",
		"*" + strings.Repeat("a", 1000) + "b*",
		strings.Repeat("*a?", 300) + "*b?*",
		"*" + strings.Repeat("?", 100) + "b*",
	} {
		text, err := pattern.NewText(pattern.Glob, glob)
		if err != nil {
			t.Fatal(err)
		}
		if text.Match(long) {
			t.Errorf("%.20s... matches a text without a b", glob)
		}
		if !text.Match(long + "b" + long) {
			t.Errorf("%.20s... does not match a text with a b", glob)
		}
	}
}

// noCharacter stands for a byte that is no UTF-8.
const noCharacter = -2

func characters(text string) []rune {
	var cs []rune
	for i, c := range text {
		if c == '\ufffd' && !strings.HasPrefix(text[i:], "\ufffd") {
			c = noCharacter
		}
		cs = append(cs, c)
	}
	return cs
}

// naive is a glob matcher that tries everything. Globs that do not compile must not
// be given to it.
func naive(glob, text []rune) bool {
	if len(glob) == 0 {
		return len(text) == 0
	}
	switch glob[0] {
	case '*':
		return naive(glob[1:], text) || len(text) > 0 && naive(glob, text[1:])
	case '?':
		return len(text) > 0 && naive(glob[1:], text[1:])
	case '[':
		end := 2
		if glob[1] == '!' || glob[1] == '^' {
			end++
		}
		for glob[end] != ']' {
			end++
		}
		return len(text) > 0 && naiveClass(glob[1:end], text[0]) && naive(glob[end+1:], text[1:])
	}
	return len(text) > 0 && glob[0] == text[0] && naive(glob[1:], text[1:])
}

func naiveClass(class []rune, c rune) bool {
	if class[0] == '!' || class[0] == '^' {
		return !naiveClass(class[1:], c)
	}
	for len(class) > 0 {
		if len(class) > 2 && class[1] == '-' {
			if class[0] <= c && c <= class[2] {
				return true
			}
			class = class[3:]
			continue
		}
		if class[0] == c {
			return true
		}
		class = class[1:]
	}
	return false
}
