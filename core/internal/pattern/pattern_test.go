package pattern_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pattern"
)

func parse(t *testing.T, text string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(name, arguments string) *pattern.Call {
	return pattern.NewCall(name, json.RawMessage(arguments), nil)
}

func TestToolPatternGrammar(t *testing.T) {
	for _, tt := range []struct {
		text, canonical string
		want            pattern.Specificity
	}{
		{"Bash", "Bash", pattern.Specificity{Kind: pattern.Exact}},
		{" \tBash\n", "Bash", pattern.Specificity{Kind: pattern.Exact}},
		{"Bash(*)", "Bash", pattern.Specificity{Kind: pattern.Exact}},
		{"Bash ( * ) ", "Bash", pattern.Specificity{Kind: pattern.Exact}},
		{"*", "*", pattern.Specificity{Kind: pattern.Glob}},
		{"mcp__*", "mcp__*", pattern.Specificity{Kind: pattern.Glob}},
		{"file_?", "file_?", pattern.Specificity{Kind: pattern.Glob}},
		{"file_[a-z]", "file_[a-z]", pattern.Specificity{Kind: pattern.Glob}},
		{"{a,b}", "{a,b}", pattern.Specificity{Kind: pattern.Exact}},
		{"/^mcp__(gh|gl)__/", "/^mcp__(gh|gl)__/", pattern.Specificity{Kind: pattern.Regex}},
		{`/a\/b/`, `/a\/b/`, pattern.Specificity{Kind: pattern.Regex}},
		{"/(a/b)/", "/(a/b)/", pattern.Specificity{Kind: pattern.Regex}},
		{"/a b/(x)", "/a b/(x)", pattern.Specificity{Kind: pattern.Regex, Arguments: true}},
		{"Bash(npm *)", "Bash(npm *)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash( npm * )", "Bash(npm *)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(**)", "Bash(**)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(echo (a (b)) c)", "Bash(echo (a (b)) c)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(echo [)(])", "Bash(echo [)(])", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(*.rs)", "Bash(*.rs)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{`Edit(file_path~"src/**")`, `Edit(file_path ~ "src/**")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 2}},
		{`Edit(file_path ~ 'src/**')`, `Edit(file_path ~ "src/**")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 2}},
		{`Edit( a = "1" ,b!="2",c=~"3",d!~'4' , e !=~ "5" )`, `Edit(a = "1", b != "2", c =~ "3", d !~ "4", e !=~ "5")`,
			pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 5, Precision: 3 + 3 + 1 + 2 + 1}},
		{`*(a.*.b-c[0][*].d_e = "")`, `*(a.*.b-c[0][*].d_e = "")`, pattern.Specificity{Kind: pattern.Glob, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a[007] = "x")`, `T(a[7] = "x")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(*[*] = "x")`, `T(*[*] = "x")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`/x/(a = "1")`, `/x/(a = "1")`, pattern.Specificity{Kind: pattern.Regex, Arguments: true, Conditions: 1, Precision: 3}},
		// Quotes and escapes: whichever needs fewer, and no backslash more than it takes.
		{`T(a = "say \"x\"")`, `T(a = 'say "x"')`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a = 'it\'s')`, `T(a = "it's")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a = '\'"')`, `T(a = "'\"")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a = "\d+\\.x\\")`, `T(a = "\d+\.x\\")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a = "\\\\n")`, `T(a = "\\\n")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 1, Precision: 3}},
		{`T(a = ")", b = ",")`, `T(a = ")", b = ",")`, pattern.Specificity{Kind: pattern.Exact, Arguments: true, Conditions: 2, Precision: 6}},
		// An operator that does not stand behind the first word makes no condition.
		{"Bash(npm run = x)", "Bash(npm run = x)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(FOO[=]bar *)", "Bash(FOO[=]bar *)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
		{"Bash(a ! b)", "Bash(a ! b)", pattern.Specificity{Kind: pattern.Exact, Arguments: true}},
	} {
		p, err := pattern.Parse(tt.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.String() != tt.canonical || p.Specificity() != tt.want {
			t.Errorf("%s: %s %+v, want %s %+v", tt.text, p, p.Specificity(), tt.canonical, tt.want)
		}
		if again := parse(t, p.String()); !again.Equal(p) || again.Specificity() != p.Specificity() {
			t.Errorf("%s is read as %s", p, again)
		}
	}
}

func TestToolPatternErrors(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "is empty, want a tool's name such as Bash, a glob such as mcp__* or a regular expression such as /^mcp__/"},
		{"  ", 0, "is empty, want a tool's name such as Bash, a glob such as mcp__* or a regular expression such as /^mcp__/"},
		{"Ba\xffsh", 2, "is not UTF-8"},
		{"\ufffd\xff", 3, "is not UTF-8"},
		{" (x)", 1, "'(' in place of a tool, use * for every tool"},
		{"//", 0, "regular expression is empty, /.*/ matches every tool"},
		{"/abc", 0, `regular expression has no / at its end; a / within it is written \/, a single parenthesis \( or \)`},
		{`/abc\/`, 0, `regular expression has no / at its end; a / within it is written \/, a single parenthesis \( or \)`},
		{"/(abc/", 0, `regular expression has no / at its end; a / within it is written \/, a single parenthesis \( or \)`},
		{" /a[/", 2, `regular expression "a[": missing closing ]: "["`},
		{"/a**/", 1, `regular expression "a**": invalid nested repetition operator: "**"`},
		{"Bash rm", 5, "'r' after the tool, want ( or the end"},
		{"Bash)", 4, "')' after the tool, want ( or the end"},
		{"/x/y", 3, "'y' after the tool, want ( or the end"},
		{"Bash[a", 4, "[ starts a class without a closing ], write [[] for the character"},
		{"Bash[]", 4, "[ starts a class without a closing ], write [[] for the character"},
		{"x[!]", 1, "[ starts a class without a closing ], write [[] for the character"},
		{"x[az-b]", 3, "range z-b is in the wrong order"},
		{"Bash()", 5, "nothing in the parentheses, want a glob, conditions, or (*) for any arguments"},
		{"Bash(  )", 7, "nothing in the parentheses, want a glob, conditions, or (*) for any arguments"},
		{"Bash(rm", 7, "no ) at the end; a single parenthesis within is written [(] or [)]"},
		{"Bash(rm (x)", 11, "no ) at the end; a single parenthesis within is written [(] or [)]"},
		{"Bash(rm) x", 9, "'x' after the closing parenthesis, want the end"},
		{"Bash(rm))", 8, "')' after the closing parenthesis, want the end"},
		{"Bash([1,2)", 5, "[ starts a class without a closing ], write [[] for the character"},
		{`Bash(rm \*)`, 8, `\* is ambiguous: write [*] for the character itself, [\]* for a backslash and the wildcard`},
		{"Bash(FOO=bar *)", 9, "'b' after =, want a value in quotes; write a glob of the primary argument that starts so with [=]"},
		{"Bash(*~)", 7, "')' after ~, want a value in quotes; write a glob of the primary argument that starts so with [~]"},
		{`T(a == "x")`, 5, "'=' after =, want a value in quotes; write a glob of the primary argument that starts so with [=]"},
		{`T(a != `, 6, "the end after !=, want a value in quotes; write a glob of the primary argument that starts so with [!]"},
		{`T(a = "x`, 6, `value has no " at its end`},
		{`T(a = 'x")`, 6, `value has no ' at its end`},
		{`T(a = "x\")`, 6, `value has no " at its end`},
		{`T(a = "x"`, 9, "the end after a condition, want , or )"},
		{`T(a = "x" b = "y")`, 10, "'b' after a condition, want , or )"},
		{`T(a = "x",)`, 10, "want a field name of A-Z a-z 0-9 _ - or *"},
		{`T(a = "x", b)`, 12, "')' after a field, want one of ~ = =~ !~ != !=~"},
		{`T(a..b = "x")`, 4, "want a field name of A-Z a-z 0-9 _ - or *"},
		{`T(.a = "x")`, 2, "want a field name of A-Z a-z 0-9 _ - or *"},
		{`T(a*b = "x")`, 3, "want . and a field name, [n], [*] or an operator after a field"},
		{`T(a[x] = "x")`, 3, "want [n] with n from 0 to 999999999, or [*]"},
		{`T(a[] = "x")`, 3, "want [n] with n from 0 to 999999999, or [*]"},
		{`T(a[1000000000] = "x")`, 3, "want [n] with n from 0 to 999999999, or [*]"},
		{`T(größe = "x")`, 4, "'ö' after a field, want one of ~ = =~ !~ != !=~"},
		{`T(a = "x") `, -1, ""},
		{`T(a =~ "x(")`, 8, `regular expression "x(": missing closing ): "x("`},
		{`T(a =~ "x[")`, 8, `regular expression "x[": missing closing ]: "["`},
		{`T(a ~ "\"\"[z")`, 11, "[ starts a class without a closing ], write [[] for the character"},
		{`T(a = "x)`, 6, `value has no " at its end`},
	} {
		_, err := pattern.Parse(tt.text)
		var syntax *pattern.SyntaxError
		if !errors.As(err, &syntax) {
			if tt.offset >= 0 || err != nil {
				t.Errorf("%q: %v, want a SyntaxError at byte %d", tt.text, err, tt.offset)
			}
			continue
		}
		if syntax.Pattern != tt.text || syntax.Offset != tt.offset || syntax.Message != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q: byte %d: %s\nwant byte %d: %s", tt.text, syntax.Offset, syntax.Message, tt.offset, tt.want)
		}
	}
}

func TestErrorsNameThePattern(t *testing.T) {
	for text, want := range map[string]string{
		"Bash(rm) x": `pattern "Bash(rm) x" at byte 9: 'x' after the closing parenthesis, want the end`,
		"Bash(" + strings.Repeat("a", 100) + ") " + strings.Repeat("b", 100): `pattern "...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) bbbbbbbbbbbbbbbbbbbbbbbbbbbbb..." at byte 107: 'b' after the closing parenthesis, want the end`,
	} {
		if _, err := pattern.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestPatternLimit(t *testing.T) {
	atLimit := "Bash(" + strings.Repeat("a", 1018) + ")"
	if p := parse(t, atLimit); len(p.String()) != 1024 {
		t.Errorf("%d bytes, want 1024", len(p.String()))
	}
	_, err := pattern.Parse(atLimit + " ")
	const want = `pattern "Bash(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..." has 1025 bytes: pattern is longer than 1024 bytes`
	if !errors.Is(err, pattern.ErrTooLong) || core.CodeOf(err) != core.CodeTooLarge || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	// The canonical form has two more.
	tight := `T(a="` + strings.Repeat("a", 1015) + `")`
	parse(t, tight)
	const long = `pattern "T(a = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..." has 1025 bytes in its canonical form: pattern is longer than 1024 bytes`
	if _, err = pattern.Parse(tight[:8] + tight[7:]); !errors.Is(err, pattern.ErrTooLong) || err.Error() != long {
		t.Errorf("%v\nwant %s", err, long)
	}
	if _, err = pattern.NewText(pattern.Exact, strings.Repeat("a", 1025)); !errors.Is(err, pattern.ErrTooLong) {
		t.Errorf("a text of 1025 bytes: %v", err)
	}
	if _, err = pattern.NewCondition(strings.Repeat("a", 1025), pattern.Op{Kind: pattern.Exact}, ""); !errors.Is(err, pattern.ErrTooLong) {
		t.Errorf("a path of 1025 bytes: %v", err)
	}
}

func TestRegexLimit(t *testing.T) {
	// x{n} compiles to n instructions, one that fails and one that matches.
	parse(t, "/x{999}x{99}/")
	parse(t, "/"+strings.Repeat("x", 1022)+"/")
	for _, text := range []string{"/x{999}x{100}/", "/(.{1000}){90}/", `T(a =~ "x{999}x{100}")`} {
		_, err := pattern.Parse(text)
		if text == "/(.{1000}){90}/" {
			if err == nil { // refused by package regexp itself
				t.Error("a repeated repetition is accepted")
			}
			continue
		}
		if !errors.Is(err, pattern.ErrRegexTooLarge) || core.CodeOf(err) != core.CodeTooLarge || !strings.Contains(err.Error(), "x{999}x{100}") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSpecificityOrder(t *testing.T) {
	// From the most to the least specific.
	order := []string{
		`Bash(a = "x", b =~ "x")`, `Bash(a ~ "x", b =~ "x")`, `Bash(a != "x")`, `Bash(a ~ "x")`, `Bash(a !=~ "x")`, "Bash(x)", "Bash",
		`B*(a = "x")`, "B*(x)", "*",
		`/B/(a = "x", b = "x")`, "/B/(x)", "/^Bash$/",
	}
	for i, a := range order {
		for j, b := range order {
			got := parse(t, a).Specificity().Compare(parse(t, b).Specificity())
			if want := j - i; got > 0 != (want > 0) || got < 0 != (want < 0) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
	for _, pair := range [][2]string{{"Bash(x)", "Bash(y*)"}, {"Bash", "Edit(*)"}, {`T(a = "x", b =~ "y")`, `T(c ~ "x", d ~ "y")`}} {
		if got := parse(t, pair[0]).Specificity().Compare(parse(t, pair[1]).Specificity()); got != 0 {
			t.Errorf("%s against %s: %d, want 0", pair[0], pair[1], got)
		}
	}
}

func TestToolNames(t *testing.T) {
	for _, tt := range []struct {
		pattern, tool string
		want          bool
	}{
		{"Bash", "Bash", true},
		{"Bash", "bash", false},
		{"Bash", "Bash2", false},
		{"Bash", "Bash\x00", false},
		{"{a,b}", "a", false},
		{"!Bash", "Edit", false},
		{"*", "", true},
		{"mcp__*", "mcp__gh__list", true},
		{"mcp__*", "MCP__gh", false},
		{"mcp__*__get", "mcp__gh__get", true},
		{"mcp__*__get", "mcp__get", false},
		{"file_?", "file_x", true},
		{"file_?", "file_", false},
		{"file_[ab]", "file_b", true},
		{"file_[!ab]", "file_b", false},
		{"/mcp__(gh|gl)__.*/", "mcp__gl__list", true},
		{"/ash/", "Bash", true},
		{"/^ash/", "Bash", false},
		{"/BASH/", "Bash", false},
		{"/(?i)BASH/", "Bash", true},
		{`/a\/b/`, "a/b", true},
	} {
		p := parse(t, tt.pattern)
		if p.MatchTool(tt.tool) != tt.want || p.Match(call(tt.tool, "{}")) != tt.want || p.MatchEvery(call(tt.tool, "no JSON")) != tt.want {
			t.Errorf("%s of %q: %v, want %v", tt.pattern, tt.tool, p.MatchTool(tt.tool), tt.want)
		}
	}
}

func TestZeroPatternMatchesNothing(t *testing.T) {
	var p pattern.Pattern
	if p.Match(call("", "")) || p.MatchEvery(call("", "")) || p.MatchTool("") || p.AnyArguments() || p.String() != "" || p.Specificity() != (pattern.Specificity{}) {
		t.Error("the zero pattern matches something")
	}
	var text pattern.Text
	var condition pattern.Condition
	if text.Match("") || text.String() != "" || condition.Match(json.RawMessage("null")) || condition.String() != "" {
		t.Error("the zero text or condition matches something")
	}
	if p.Equal(parse(t, "Bash")) || !p.Equal(pattern.Pattern{}) {
		t.Error("the zero pattern equals another")
	}
}

func TestMustParsePanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("recovered %v, want an error with code invalid", err)
		}
	}()
	pattern.MustParse("Bash(")
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[pattern.Kind]string{pattern.Exact: "exact", pattern.Glob: "glob", pattern.Regex: "regex", 0: "none"} {
		if kind.String() != want {
			t.Errorf("kind %d is %s, want %s", kind, kind, want)
		}
	}
	for _, op := range []string{"~", "=", "=~", "!~", "!=", "!=~"} {
		if p := parse(t, "T(a "+op+` "x")`); p.String() != "T(a "+op+` "x")` {
			t.Errorf("operator %s is written %s", op, p)
		}
	}
	if op := (pattern.Op{}).String(); op != "" {
		t.Errorf("no operator is written %s", op)
	}
	if text, err := pattern.NewText(pattern.Regex, "x"); err != nil || text.Kind() != pattern.Regex || text.String() != "x" {
		t.Errorf("%s %s, %v", text.Kind(), text, err)
	}
}

func TestPatternsOfAConfiguration(t *testing.T) {
	var config struct {
		Tool pattern.Pattern `json:"tool"`
	}
	if err := json.Unmarshal([]byte(`{"tool":"Bash( npm * )"}`), &config); err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(config); string(text) != `{"tool":"Bash(npm *)"}` {
		t.Errorf("%s, %v", text, err)
	}
	err := json.Unmarshal([]byte(`{"tool":"Bash("}`), &config)
	const want = `pattern "Bash(" at byte 5: no ) at the end; a single parenthesis within is written [(] or [)]`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
