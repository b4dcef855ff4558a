package agent_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
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
		p, err := agent.ParseToolPattern(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		if got := p.Match(test.name); got != test.want {
			t.Errorf("%q matches %q: %v, want %v", test.pattern, test.name, got, test.want)
		}
	}
	if (agent.ToolPattern{}).Match("") {
		t.Error("the zero value matches")
	}
}

func TestToolPatternsThatAreNone(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"empty", ``, `pattern is empty`},
		{"a dangling backslash", `a\`, `pattern "a\\" ends in a single backslash, \\ stands for one`},
		{"a dangling backslash behind a pair", `\\\`, `pattern "\\\\\\" ends in a single backslash, \\ stands for one`},
		{"at the limit", strings.Repeat("a", 1024), `<nil>`},
		{"over the limit", strings.Repeat("a", 1025), `pattern has 1025 bytes, at most 1024 are allowed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := agent.ParseToolPattern(test.pattern)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q", core.CodeOf(err))
			}
		})
	}
}

func TestPatternsAndNamesMakeTheCatalogAndDenyWins(t *testing.T) {
	all, none := []string{"drop", "read", "write"}, []string(nil)
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"nothing said", `{}`, all},
		{"all of them", `{"allowed_tool_patterns":["*"]}`, all},
		{"an empty list", `{"allowed_tools":[]}`, none},
		{"a list that is null", `{"allowed_tools":null}`, none},
		{"an empty list of patterns", `{"allowed_tool_patterns":[]}`, none},
		{"patterns that are null", `{"allowed_tool_patterns":null}`, none},
		{"names", `{"allowed_tools":["read"]}`, []string{"read"}},
		{"a pattern", `{"allowed_tool_patterns":["*r*"]}`, all},
		{"names and patterns", `{"allowed_tools":["drop"],"allowed_tool_patterns":["w*"]}`, []string{"drop", "write"}},
		{"no names beside a pattern", `{"allowed_tools":[],"allowed_tool_patterns":["w*"]}`, []string{"write"}},
		{"all but a name", `{"excluded_tools":["drop"]}`, []string{"read", "write"}},
		{"all but a pattern", `{"excluded_tool_patterns":["*e*"]}`, []string{"drop"}},
		{"a pattern that excludes a name", `{"allowed_tools":["read"],"excluded_tool_patterns":["r*"]}`, none},
		{"a name that excludes of a pattern", `{"allowed_tool_patterns":["*"],"excluded_tools":["read"]}`, []string{"drop", "write"}},
		{"everything excluded", `{"excluded_tool_patterns":["*"]}`, none},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := decoded(t, test.spec)
			if diff := cmp.Diff(test.want, toolNames(resolve(t, parts(spec), "a"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decoded is a spec with the fields of the text.
func decoded(t *testing.T, fields string) agent.Spec {
	t.Helper()
	separator := map[bool]string{false: ","}[fields == "{}"]
	spec, err := agent.DecodeSpec([]byte(`{"id":"a","model":"small"` + separator + strings.TrimPrefix(fields, "{")))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestPatternsWithoutToolsAreWarnedOf(t *testing.T) {
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"nothing said", `{}`, nil},
		{"patterns with tools", `{"allowed_tool_patterns":["*","r*"],"excluded_tool_patterns":["d*"]}`, nil},
		{"a pattern without", `{"excluded_tool_patterns":["w*","mcp:*"]}`, []string{`agent "a": excluded_tool_patterns[1] "mcp:*" matches no tool`}},
		{"a permission rule", `{"allowed_tool_patterns":["read(*)"]}`,
			[]string{`agent "a": allowed_tool_patterns[0] "read(*)" matches no tool; what depends on a call's arguments belongs into the section permission`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, w := range registry(t, parts(decoded(t, test.spec))).Warnings() {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
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
		p, err := agent.ParseToolPattern(pattern)
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
