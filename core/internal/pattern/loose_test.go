package pattern_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

// Members whose names differ in case alone are one member to encoding/json.
func TestAPrimaryArgumentInTwoSpellingsIsEither(t *testing.T) {
	p := pattern.MustParse("Bash(rm *)")
	for _, tt := range []struct {
		arguments   string
		some, every bool
	}{
		{`{"command":"x","COMMAND":"rm y"}`, true, false},
		{`{"COMMAND":"rm y","command":"x"}`, true, false},
		{`{"command":"rm x","Command":"rm y"}`, true, true},
		{`{"command":"rm x","other":"rm y"}`, false, false},
	} {
		c := pattern.NewCall("Bash", json.RawMessage(tt.arguments), nil)
		if some, every := p.Match(c), p.MatchEvery(c); some != tt.some || every != tt.every {
			t.Errorf("%s: %v under some reading, %v under every", tt.arguments, some, every)
		}
	}
}

func TestLoosePatterns(t *testing.T) {
	const shell = `{"required":["command"],"properties":{"command":{"type":"string"}}}`
	for _, tt := range []struct {
		pattern, arguments, schema string
		strict, loose              bool
	}{
		{`T`, `{}`, ``, true, true},
		{`t`, `{}`, ``, false, false},
		{`T(rm *)`, `{"c":"RM x"}`, ``, false, true},
		{`T(RM *)`, `{"c":"rm x"}`, ``, false, true},
		{`T(rm *)`, `{"c":"r-m"}`, ``, false, false},
		{`T(c = "Rm")`, `{"c":"rM"}`, ``, false, true},
		{`T(c != "rm")`, `{"c":"RM"}`, ``, true, true},
		{`T(c != "rm")`, `{"c":"rm"}`, ``, false, false},
		{`T(c !~ "R*")`, `{"c":"rm"}`, ``, true, true},
		{`T(c ~ "R*", d != "x")`, `{"c":"rm","d":"X"}`, ``, false, true},
		{`T(c =~ "^RM\\S")`, `{"c":"rmx"}`, ``, false, true},
		{`T(c =~ "^RM\\S")`, `{"c":"rm x"}`, ``, false, false},
		{`T(c !=~ "R")`, `{"c":"rR"}`, ``, false, false},
		{`T(c !=~ "R")`, `{"c":"r"}`, ``, true, true},
		{`T(c ~ "[a-c]?[!x]")`, `{"c":"B y"}`, ``, false, true},
		{`T(c ~ "[a-c]?[!x]")`, `{"c":"b X"}`, ``, true, true},
		{`T(c ~ "[a-c]?[!x]")`, `{"c":"b x"}`, ``, false, true}, // which may have been an X
		{`T(c ~ "A?B[1]C*")`, `{"c":"axb1cd"}`, ``, false, true},
		{`T(c = "10")`, `{"c":1e1}`, ``, true, true},
		{`T(c != "10")`, `{"c":1e1}`, ``, false, false},
		{`T(_c.d = "x")`, `{"-C":{"D":"X"}}`, ``, false, true}, // as this fold has it
		{`T(rm *)`, `{"c":"rm x","d":1}`, ``, false, true},     // nothing says which is the primary argument
		{`T(rm *)`, `{"command":"ls","d":"rm x"}`, shell, false, false},
		{`T(rm *)`, `{"d":1}`, ``, false, false},
		{`T(rm *)`, `[["rm x"]]`, ``, false, false},
	} {
		t.Run(tt.pattern+" "+tt.arguments, func(t *testing.T) {
			p := pattern.MustParse(tt.pattern)
			c := pattern.NewCall("T", json.RawMessage(tt.arguments), json.RawMessage(tt.schema))
			fold := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "-", "_") }
			loose := p.Loose(fold)
			if got := p.Match(c); got != tt.strict {
				t.Errorf("strict: %v", got)
			}
			if got := loose.Match(c); got != tt.loose {
				t.Errorf("loose: %v", got)
			}
			if loose.String() != p.String() || loose.Specificity() != p.Specificity() || loose.AnyArguments() != p.AnyArguments() {
				t.Errorf("the loose pattern is %s, another one", loose)
			}
		})
	}
	if (pattern.Pattern{}).Loose(strings.ToLower).Match(pattern.NewCall("T", nil, nil)) {
		t.Error("no pattern matches loosely")
	}
}

func TestCanonicalArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"b":1.0, "a":"\u0072"}`:   `{"a":"r","b":1}`,
		``:                          `{}`,
		`{"a":{"b":1,"b":1}}`:       ``,
		`{"a":1,"A":1}`:             ``,
		`[{"s":1,"ſ":2}]`:           ``,
		`{"a":{"x":1},"b":{"X":1}}`: `{"a":{"x":1},"b":{"X":1}}`,
		`{"k":1,"\u212a":2}`:        ``,
		`{`:                         ``,
		`["a","A"]`:                 `["a","A"]`,
	} {
		got, ok := pattern.NewCall("T", json.RawMessage(arguments), nil).Canonical()
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", arguments, got, ok, want)
		}
	}
}
