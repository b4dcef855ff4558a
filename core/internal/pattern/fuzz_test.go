package pattern_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"Bash", "mcp__*", "/^mcp__(gh|gl)__/", "Bash(npm *)", "Bash( * )", `Edit(file_path ~ 'src/**', mode != "x")`,
		`T(a.*.b[0][*] =~ "\\d\"", c !=~ '\'')`, "T(x[)(]y)", `T(a[07]="x")`, "[!]-a]", `T(größe = "x")`, " \u2003T\u00a0(\u2003a ) ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pattern.Parse(text)
		if err != nil {
			if !p.Equal(pattern.Pattern{}) {
				t.Errorf("%q: %s beside an error", text, p)
			}
			return
		}
		again, err := pattern.Parse(p.String())
		if err != nil {
			t.Fatalf("%q is %q, which does not parse: %v", text, p, err)
		}
		if !again.Equal(p) || again.Specificity() != p.Specificity() || again.AnyArguments() != p.AnyArguments() {
			t.Errorf("%q is read again as %q", p, again)
		}
		c := pattern.NewCall("T", json.RawMessage(`{"a":"b","c":[1,{"d":null}]}`), nil)
		if p.Match(c) != again.Match(c) || p.MatchEvery(c) != again.MatchEvery(c) {
			t.Errorf("%q matches something else when it is read again", p)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("*a?[b-d]*", "xaycz", `{"a":[1.0,{"b":null}],"A":"x"}`)
	f.Add("[!]]*\ufffd", "a\xff\ufffd", `{"a":1,"a":2e400}`)
	f.Add("**?a*", "aéa", `[[],{"":"\ud800"}]`)
	f.Fuzz(func(t *testing.T, glob, text, arguments string) {
		if len(glob) > 24 || len(text) > 24 { // the reference takes exponential time
			return
		}
		if want, err := pattern.NewText(pattern.Glob, glob); err == nil {
			if got := want.Match(text); got != naive([]rune(glob), characters(text)) {
				t.Errorf("%q of %q: %v", glob, text, got)
			}
		}
		c := pattern.NewCall("T", json.RawMessage(arguments), json.RawMessage(arguments))
		c.Primary()
		for _, p := range []string{"*(" + glob + ")", `T(*.a[*] ~ "` + glob + `")`, `T(a != '` + glob + `')`} {
			if p, err := pattern.Parse(p); err == nil && p.MatchEvery(c) && !p.Match(c) {
				t.Errorf("%s matches every reading of %s and none", p, arguments)
			}
		}
	})
}

// What is compared does not depend on how the arguments are written.
func FuzzCanonical(f *testing.F) {
	f.Add(`{"b":[1.0,1e400,-0],"a":{"d":"\u0072\u0000","c":null}}`)
	f.Add(`[0.1e-7,123456789012345678901234567890]`)
	f.Fuzz(func(t *testing.T, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		array := json.RawMessage("[" + arguments + "]")
		once := pattern.NewCall("T", array, nil).Primary()
		twice := pattern.NewCall("T", json.RawMessage(once), nil).Primary()
		if !json.Valid([]byte(once)) || once != twice {
			t.Errorf("%s is %s, and that is %s", array, once, twice)
		}
		var decoded any
		if json.Unmarshal(array, &decoded) != nil || repeats(array) {
			return // a number is too large, or a name stands there twice
		}
		var again any
		if json.Unmarshal([]byte(once), &again) != nil || !reflect.DeepEqual(decoded, again) {
			t.Errorf("%s means %v, and %s means %v", array, decoded, once, again)
		}
	})
}

// repeats reports whether an array has an object in it with two members of one name.
func repeats(text json.RawMessage) bool {
	return !pattern.MustParse("T([[]*)").MatchEvery(pattern.NewCall("T", text, nil))
}
