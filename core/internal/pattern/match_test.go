package pattern_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

func TestPrimaryArgument(t *testing.T) {
	const shell = `{"type":"object","required":["command","timeout"],"properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"note":{"type":"string"}}}`
	for _, tt := range []struct {
		name, arguments, schema, want string
	}{
		{"one key", `{"command":"npm i"}`, ``, "npm i"},
		{"one key, whatever the schema says", `{"note":"npm i"}`, shell, "npm i"},
		{"one key, escaped", `{"command":"\u0072m \/"}`, ``, "rm /"},
		{"one key, null", `{"x":null}`, ``, ""},
		{"one key, a boolean", `{"x":true}`, ``, "true"},
		{"one key, a number", `{"x":1e0}`, ``, "1"},
		{"one key, an object", `{"x": {"b":1, "a":[2,"<"]}}`, ``, `{"a":[2,"<"],"b":1}`},
		{"one required string", `{"timeout":5,"command":"npm i"}`, shell, "npm i"},
		{"one required string, the argument is none", `{"timeout":5,"command":7}`, shell, "7"},
		{"one required string, in another case", `{"timeout":5,"Command":"npm i"}`, shell, "npm i"},
		{"one required string, missing", `{"timeout":5,"note":"n"}`, shell, `{"note":"n","timeout":5}`},
		{"one required string or null", `{"a":"x","b":1}`, `{"required":["a"],"properties":{"a":{"type":["null","string"]}}}`, "x"},
		{"required twice", `{"a":"x","b":1}`, `{"required":["a","a"],"properties":{"a":{"type":"string"}}}`, "x"},
		{"two required strings", `{"b":"y","a":"x"}`, `{"required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":"x","b":"y"}`},
		{"a string that is not required", `{"b":1,"a":"x"}`, `{"required":["b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, `{"a":"x","b":1}`},
		{"string or number", `{"b":1,"a":"x"}`, `{"required":["a"],"properties":{"a":{"type":["string","number"]}}}`, `{"a":"x","b":1}`},
		{"a name of another type", `{"b":1,"a":"x"}`, `{"required":[1,"a"],"properties":{"a":{"type":"string"},"1":{"type":"string"}}}`, "x"},
		{"properties that may be anything", `{"b":1,"a":"x"}`, `{"required":["a","b"],"properties":{"a":{"type":"string"},"b":true}}`, "x"},
		{"no properties", `{"b":1,"a":"x"}`, `{"required":["a"]}`, `{"a":"x","b":1}`},
		{"a schema that is none", `{"b":1,"a":"x"}`, `{"required":7`, `{"a":"x","b":1}`},
		{"order and blanks", "{ \"b\" : 1.0,\n\"a\":\t\"x\" }", ``, `{"a":"x","b":1}`},
		{"nested order", `{"b":{"d":1,"c":2},"a":[ ]}`, ``, `{"a":[],"b":{"c":2,"d":1}}`},
		{"escapes", `{"a":"\u00e9\u0000\n\"\\\/\u001f","b":0}`, ``, `{"a":"é\u0000\n\"\\/\u001f","b":0}`},
		{"no key", `{}`, shell, `{}`},
		{"nothing", ``, ``, `{}`},
		{"an array", `[1, 2]`, ``, `[1,2]`},
		{"a string", `"rm"`, ``, `"rm"`},
		{"null", `null`, ``, `null`},
		{"no JSON", `{"command":"rm`, ``, `{"command":"rm`},
		{"a repeated key", `{"command":"ls","command":"rm"}`, ``, "rm"},
		{"half a surrogate pair", `{"x":"\ud800a"}`, ``, "\ufffda"},
		{"no UTF-8", "{\"x\":\"\xffa\"}", ``, "\ufffda"},
	} {
		if got := pattern.NewCall("T", json.RawMessage(tt.arguments), json.RawMessage(tt.schema)).Primary(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFieldConditions(t *testing.T) {
	const nested = `{"files":[{"path":"src/a.go","size":10},{"path":"etc/b","size":1e2}],"meta":{"x":{"id":"1"},"y":{"id":"2"}},"tags":["a","b"],"grid":[[1,2],[3]]}`
	for _, tt := range []struct {
		conditions, arguments string
		want                  bool
	}{
		{`a = "x"`, `{"a":"x"}`, true},
		{`a = "x"`, `{"a":"x "}`, false},
		{`a = "X"`, `{"a":"x"}`, false},
		{`a = 'x'`, `{"a":"x"}`, true},
		{`a = "*"`, `{"a":"x"}`, false},
		{`a != "x"`, `{"a":"x"}`, false},
		{`a != "x"`, `{"a":"y"}`, true},
		{`a ~ "src/**"`, `{"a":"src/a/b"}`, true},
		{`a ~ "src/**"`, `{"a":"/src/a"}`, false},
		{`a !~ "src/*"`, `{"a":"src/a/b"}`, false},
		{`a !~ "src/*"`, `{"a":"etc/a"}`, true},
		{`a =~ "(?i)rm"`, `{"a":"x RM y"}`, true},
		{`a =~ "^rm"`, `{"a":"x rm"}`, false},
		{`a =~ "\bfoo\b"`, `{"a":"a foo b"}`, true},
		{`a !=~ "rm"`, `{"a":"rm"}`, false},
		{`a !=~ "rm"`, `{"a":"ls"}`, true},
		{`a = "x", b = "y"`, `{"a":"x","b":"y"}`, true},
		{`a = "x", b = "y"`, `{"a":"x","b":"z"}`, false},

		// A missing field.
		{`a = ""`, `{}`, false},
		{`a != "x"`, `{}`, false},
		{`a !~ "x"`, `{"b":"y"}`, false},
		{`a !=~ "x"`, `{"b":"y"}`, false},
		{`a.b != "x"`, `{"a":"y"}`, false},
		{`a[0] != "x"`, `{"a":{"0":"y"}}`, false},
		{`a[1] != "x"`, `{"a":["y"]}`, false},
		{`*.b != "x"`, `{}`, false},
		{`a[*] != "x"`, `{"a":[]}`, false},
		{`a != "x"`, `["a"]`, false},
		{`a != "x"`, `no JSON`, false},
		{`a != "x"`, ``, false},

		// Texts of values.
		{`a = ""`, `{"a":null}`, true},
		{`a = "true"`, `{"a":true}`, true},
		{`a = "false"`, `{"a":false}`, true},
		{`a = "1"`, `{"a":1.0}`, true},
		{`a = "1.0"`, `{"a":1e0}`, true},
		{`a = "1.0"`, `{"a":"1"}`, false},
		{`a != "10e-1"`, `{"a":1}`, false},
		{`a ~ "1"`, `{"a":1.00}`, true},
		{`a =~ "^1$"`, `{"a":100e-2}`, true},
		{`a = "9007199254740993"`, `{"a":9007199254740993}`, true},
		{`a = "9007199254740993"`, `{"a":9007199254740992}`, false},
		{`a = '{"x":1}'`, `{"a":{"x":1}}`, true},
		{`a = '[1,"b"]'`, `{"a":[ 1.0 , "\u0062" ]}`, true},
		{`a ~ '*"path":"/etc*'`, `{"a":[{"path":"\/etc/x"}]}`, true},

		// Paths.
		{`files[0].path = "src/a.go"`, nested, true},
		{`files[1].path = "src/a.go"`, nested, false},
		{`files[2].path = "src/a.go"`, nested, false},
		{`files[*].path ~ "etc/*"`, nested, true},
		{`files[*].size = "100"`, nested, true},
		{`files.path ~ "*"`, nested, false},
		{`meta.*.id = "2"`, nested, true},
		{`meta.*.id = "3"`, nested, false},
		{`meta[*].id = "2"`, nested, false},
		{`*.y.id = "2"`, nested, true},
		{`*[*].path ~ "src/*"`, nested, true},
		{`tags[*] = "b"`, nested, true},
		{`grid[0][1] = "2"`, nested, true},
		{`grid[*][*] = "3"`, nested, true},
		{`tags.* = "b"`, nested, false},

		// Any of the values is enough, for negative operators too.
		{`tags[*] != "a"`, nested, true},
		{`files[*].path !~ "src/*"`, nested, true},
		{`files[*].path !~ "*"`, nested, false},
		{`files[*].path !=~ "^src"`, nested, true},
	} {
		p := parse(t, "T("+tt.conditions+")")
		c := call("T", tt.arguments)
		if got := p.Match(c); got != tt.want || p.MatchEvery(c) != tt.want {
			t.Errorf("%s of %s: %v, want %v", tt.conditions, tt.arguments, got, tt.want)
		}
		if p.Match(call("U", tt.arguments)) {
			t.Errorf("%s matches another tool", tt.conditions)
		}
	}
}

func TestOneCondition(t *testing.T) {
	c, err := pattern.NewCondition("error.code", pattern.Op{Kind: pattern.Exact}, "403")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Match(json.RawMessage(`{"error":{"code":403}}`)) || c.Match(json.RawMessage(`{"error":{"code":404}}`)) || c.Match(json.RawMessage(`{`)) {
		t.Error("the condition does not compare error.code")
	}
	if c.String() != `error.code = "403"` {
		t.Error(c.String())
	}
	for want, make := range map[string]func() (pattern.Condition, error){
		`pattern "a..b" at byte 2: want a field name of A-Z a-z 0-9 _ - or *`: func() (pattern.Condition, error) {
			return pattern.NewCondition("a..b", pattern.Op{Kind: pattern.Exact}, "")
		},
		`pattern "x[" at byte 1: [ starts a class without a closing ], write [[] for the character`: func() (pattern.Condition, error) {
			return pattern.NewCondition("a", pattern.Op{Kind: pattern.Glob}, "x[")
		},
		`pattern "x" at byte 0: unknown kind 0, want exact, glob or regex`: func() (pattern.Condition, error) {
			return pattern.NewCondition("a", pattern.Op{}, "x")
		},
	} {
		if _, err := make(); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// Whoever denies asks Match, whoever allows MatchEvery: a call that hides one value
// behind another is denied for either, and allowed for both at most.
func TestArgumentsWithTwoMeanings(t *testing.T) {
	const schema = `{"required":["command"],"properties":{"command":{"type":"string"}}}`
	for _, tt := range []struct {
		pattern, arguments string
		some, every        bool
	}{
		{`T(command ~ "rm *")`, `{"command":"rm x"}`, true, true},
		{`T(command ~ "rm *")`, `{"command":"ls","command":"rm x"}`, true, false},
		{`T(command ~ "rm *")`, `{"command":"rm x","command":"ls"}`, true, false},
		{`T(command ~ "rm *")`, `{"command":"rm x","c\u006fmmand":"ls"}`, true, false},
		{`T(command ~ "rm *")`, `{"command":"rm x","command":"rm y"}`, true, true},
		{`T(command ~ "rm *")`, `{"command":"ls","Command":"rm x"}`, true, false},
		{`T(command ~ "rm *")`, `{"Command":"rm x"}`, true, false}, // a tool that looks closely sees none
		{`T(command ~ "rm *")`, `{"command":"rm x","COMMAND":"rm y"}`, true, true},
		{`T(command !~ "rm *")`, `{"command":"ls","command":"rm x"}`, true, false},
		{`T(command != "x")`, `{"COMMAND":"y"}`, true, false},
		{`T(key = "x")`, "{\"\u212aey\":\"x\"}", true, false}, // encoding/json folds the Kelvin sign
		{`T(rm *)`, `{"command":"ls","command":"rm x"}`, true, false},
		{`T(rm *)`, `{"command":"rm x","command":"ls"}`, true, false},
		{`T(rm *)`, `{"command":"rm x","command":"rm y"}`, true, true},
		{`T(rm *)`, `{"t":1,"command":"ls","Command":"rm x"}`, true, false},
		{`T(rm *)`, `{"t":1,"Command":"rm x"}`, true, false},
		{`T(a.b = "1")`, `{"a":{"b":1},"a":{"b":2}}`, true, false},
		{`T(a.b = "1")`, `{"a":{"b":1,"b":1}}`, true, true},
		{`T(a ~ "*")`, `{"a":{"b":1,"b":2}}`, true, false}, // the text of an object shows both
		{`T(a[*].b = "1")`, `{"a":[{"b":1,"b":2},{"b":1}]}`, true, true},
		{`T(*.b = "1")`, `{"a":{"b":1},"a":{"b":2}}`, true, false},
		{`T(*.b = "1")`, `{"a":{"b":1},"a":{"b":2},"c":{"b":1}}`, true, true},
		{`T(a = "1", b = "1")`, `{"a":1,"b":1,"b":2}`, true, false},
		{`T`, `{"a":1,"a":2}`, true, true},
		{`T(*"a":1*)`, `{"x":[{"a":1,"a":2}],"y":0}`, true, false},
	} {
		p := parse(t, tt.pattern)
		c := pattern.NewCall("T", json.RawMessage(tt.arguments), json.RawMessage(schema))
		if some, every := p.Match(c), p.MatchEvery(c); some != tt.some || every != tt.every {
			t.Errorf("%s of %s: %v %v, want %v %v", tt.pattern, tt.arguments, some, every, tt.some, tt.every)
		}
	}
}

func TestNumbersHaveOneSpelling(t *testing.T) {
	for want, spellings := range map[string][]string{
		"0":                     {"0", "-0", "0.0", "0e9", "-0.00e-99999999999", "0e99999999999", "1e-400"},
		"1":                     {"1", "1.0", "1e0", "10e-1", "0.1E+1", "1.00000000000000000000001"},
		"-12":                   {"-12", "-1.2e1", "-120E-1"},
		"100":                   {"100", "1e2", "1.00e+02"},
		"0.1":                   {"0.1", "1e-1", "0.10", "0.1000000000000000000000001"},
		"9007199254740993":      {"9007199254740993", "9007199254740993.0", "900719925474099.3e1"},
		"18446744073709551615":  {"18446744073709551615"},
		"123456789012345678901": {"123456789012345678901"},
		"1e+21":                 {"1e21", "1000000000000000000000", "10E20"},
		"1e-07":                 {"0.0000001", "1e-7"},
		"1.5e+300":              {"15e299"},
		"1e400":                 {"1e400"},
		"1e99999999999999":      {"1e99999999999999"},
	} {
		for _, text := range spellings {
			if got := call("T", `{"x":`+text+`}`).Primary(); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
			if c := call("T", `{"x":`+text+`}`); !parse(t, `T(x = "`+want+`")`).Match(c) || parse(t, `T(x != "`+text+`")`).Match(c) {
				t.Errorf("%s and %s are not equal", text, want)
			}
		}
	}
}

func TestDeepAndLargeArguments(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`
	if !parse(t, `T(a ~ "[[][[]*")`).Match(call("T", deep)) {
		t.Error("arguments 5,000 levels deep do not match")
	}
	tooDeep := `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	p := parse(t, `T([{]"a":*)`)
	if c := call("T", tooDeep); !p.Match(c) || p.MatchEvery(c) || parse(t, `T(a ~ "*")`).Match(c) {
		t.Error("arguments that are too deep to be JSON are not compared as text")
	}
	wide := `{"x":[` + strings.Repeat(`{"a":1,"b":[2]},`, 10_000) + `{"a":3}]}`
	if !parse(t, `T(*[*].* = "3")`).Match(call("T", wide)) || parse(t, `T(*[*].*[*] = "3")`).Match(call("T", wide)) {
		t.Error("the last of 10,000 elements is not found")
	}
}

func TestMatchingIsSafeForConcurrentUse(t *testing.T) {
	c := call("Bash", `{"command":"rm -rf /tmp/x"}`)
	patterns := []pattern.Pattern{parse(t, "Bash(*rm -rf*)"), parse(t, `Bash(command =~ "rm")`), parse(t, `/B/(command ~ "rm *")`)}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, p := range patterns {
				if !p.Match(c) || !p.MatchEvery(c) {
					t.Errorf("%s does not match", p)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkMatch(b *testing.B) {
	arguments := json.RawMessage(`{"command":"cd /tmp && npm install left-pad --save","timeout":5,"cwd":"/home/u/project"}`)
	schema := json.RawMessage(`{"type":"object","required":["command"],"properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"cwd":{"type":"string"}}}`)
	for _, bb := range []struct{ name, pattern string }{
		{"other-tool", "Edit(*rm*)"},
		{"tool", "Bash"},
		{"primary", "Bash(*rm -rf*)"},
		{"condition", `Bash(command ~ "*rm -rf*")`},
		{"regex", `Bash(command =~ "rm +-[rf]+")`},
	} {
		p := pattern.MustParse(bb.pattern)
		c := pattern.NewCall("Bash", arguments, schema)
		b.Run(bb.name+"/warm", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Match(c)
			}
		})
		b.Run(bb.name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Match(pattern.NewCall("Bash", arguments, schema))
			}
		})
	}
}
