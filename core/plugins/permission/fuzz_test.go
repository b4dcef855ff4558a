package permission_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/state"
)

// member is a member of an object that is written by spell.
type member struct {
	name  string
	value any // string, json.Number or []member
}

// spell writes an object in one of the many ways that a tool reads as the same: order,
// blanks, escapes, case of names and texts, Unicode forms, characters that are not seen,
// spellings of numbers, and members of the same name before and behind.
func spell(t *rapid.T, members []member) string {
	var b strings.Builder
	blank := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n "}).Draw(t, "blank")) }
	text := func(s string) {
		b.WriteByte('"')
		for _, c := range s {
			switch rapid.IntRange(0, 3).Draw(t, "escape") {
			case 0:
				if c < 0x10000 {
					fmt.Fprintf(&b, `\u%04x`, c)
					continue
				}
			case 1:
				if c == '/' {
					b.WriteByte('\\')
				}
			}
			quoted, _ := json.Marshal(string(c))
			b.Write(quoted[1 : len(quoted)-1])
		}
		b.WriteByte('"')
	}
	b.WriteByte('{')
	var extra []string
	for i, m := range rapid.Permutation(members).Draw(t, "order") {
		if i > 0 {
			b.WriteByte(',')
		}
		blank()
		text(anyCase(t, m.name))
		blank()
		b.WriteByte(':')
		blank()
		switch v := m.value.(type) {
		case string:
			text(disguise(t, v))
		case json.Number:
			b.WriteString(rapid.SampledFrom([]string{"100", "1e2", "100.0", "1000E-1", "0.1e+3", "100.000000000000000000000001"}).Draw(t, "number"))
		case []member:
			b.WriteString(spell(t, v))
		}
		blank()
		extra = append(extra, anyCase(t, m.name))
	}
	if rapid.Bool().Draw(t, "twice") {
		b.WriteByte(',')
		text(rapid.SampledFrom(extra).Draw(t, "again"))
		b.WriteString(`:"harmless"`)
	}
	b.WriteByte('}')
	if object := b.String(); rapid.Bool().Draw(t, "first") {
		name, _ := json.Marshal(extra[0])
		return `{` + string(name) + `:"harmless",` + object[1:]
	}
	return b.String()
}

func anyCase(t *rapid.T, name string) string {
	return strings.Map(func(c rune) rune {
		for range rapid.IntRange(0, 2).Draw(t, "case") {
			c = unicode.SimpleFold(c)
		}
		return c
	}, name)
}

// disguise writes a text that reads as the same to a person.
func disguise(t *rapid.T, text string) string {
	form := rapid.SampledFrom([]norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD}).Draw(t, "form")
	text = form.String(anyCase(t, text))
	var b strings.Builder
	for _, c := range text {
		switch rapid.IntRange(0, 5).Draw(t, "disguise") {
		case 0:
			b.WriteRune(rapid.SampledFrom([]rune{0x200b, 0x200d, 0xad, 0xfe0f, 0xfeff, 0x2060, 0xe0020}).Draw(t, "unseen"))
		case 1:
			if c > ' ' && c < 0x7f {
				c += 0xff01 - '!' // in full width
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}

// denied are patterns with calls that they match, and the tools of these.
var denied = []struct {
	pattern, tool string
	members       []member
}{
	{`Bash(rm -rf *)`, "Bash", []member{{"command", "rm -rf /tmp/x"}}},
	{`Bash(command ~ "*rm -rf /*")`, "Bash", []member{{"command", "cd /a/b && rm -rf /etc"}, {"note", "x"}}},
	{`Bash(command =~ "\\brm\\s+-")`, "Bash", []member{{"timeout", json.Number("100")}, {"command", "sudo rm -rf x"}}},
	{`Mail(to = "rené@ÅNGSTRÖM.example")`, "Mail", []member{{"to", "rené@ångström.example"}}},
	{`Pay(amount = "100", to ~ "Bob*")`, "Pay", []member{{"amount", json.Number("100")}, {"to", "Bobby"}}},
	{`*(edit.path ~ "/etc/*")`, "Edit", []member{{"edit", []member{{"path", "/etc/passwd"}}}}},
	{`Edit(path !~ "src/*")`, "Edit", []member{{"path", "/etc/passwd"}}},
	{`/it$/(*.path ~ "*[a-f]t[ch]?passwd")`, "edit", []member{{"edit", []member{{"path", "/etc/passwd"}}}}},
}

// deniesEverySpelling is the property that no way of writing a call avoids a rule that
// denies it.
func deniesEverySpelling(t *rapid.T) {
	target := rapid.SampledFrom(denied).Draw(t, "target")
	c := permission.Config{DefaultBehavior: permission.Allow, Rules: []permission.Rule{
		{Tool: target.pattern, Behavior: permission.Deny}, {Tool: "*", Behavior: permission.Allow},
	}}
	arguments := spell(t, target.members)
	if !json.Valid([]byte(arguments)) {
		t.Fatalf("the test has made %s", arguments)
	}
	v, err := permission.Judge(c, "", target.tool, arguments, state.Snapshot{})
	if err != nil || v.Behavior != permission.Deny || v.Index != 0 {
		t.Fatalf("%s of %s: %+v, %v", target.pattern, arguments, v, err)
	}
}

// Whatever way a model writes what a rule denies, it is denied.
func TestNoSpellingAvoidsADeny(t *testing.T) {
	for range 5 {
		rapid.Check(t, deniesEverySpelling)
	}
}

func FuzzSpelling(f *testing.F) { f.Fuzz(rapid.MakeFuzz(deniesEverySpelling)) }

// Whatever the section and the call are, the plugin's judgement has an end, and is that of
// the rule that it names.
func FuzzPreview(f *testing.F) {
	f.Add(`{"rules":[{"tool":"T(a ~ 'x*')","behavior":"deny"}]}`, `{"a":"xy"}`)
	f.Add(`{"default_behavior":"allow","rules":[{"tool":"T(rm *)","behavior":"ask","scope":"run"},{"tool":"/T/(a =~ '(?i)x')","behavior":"allow","scope":"once"}]}`, `{"a":"ｘ","A":1e2}`)
	f.Add(`{"rules":[{"tool":"*","behavior":"ask"}],"on_deny":"fail_call"}`, `[]`)
	f.Fuzz(func(t *testing.T, section, arguments string) {
		c, err := permission.Decode([]byte(section))
		if err != nil || !json.Valid([]byte(arguments)) {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := permission.Decode(again); err != nil || fmt.Sprint(d) != fmt.Sprint(c) {
			t.Fatalf("%s is read again as %v, %v", again, d, err)
		}
		v, err := permission.Judge(c, "a", "T", arguments, state.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		switch v.Source {
		case "spec":
			if c.Rules[v.Index].Behavior != v.Behavior {
				t.Errorf("%+v of the rule %+v", v, c.Rules[v.Index])
			}
		case "default":
			if want := cmp.Or(c.DefaultBehavior, permission.Ask); v.Behavior != want {
				t.Errorf("%+v, and the default is %q", v, want)
			}
		default:
			t.Errorf("%+v, and nothing is remembered", v)
		}
		if v.Why == "" || v.Behavior == permission.Deny && v.Source == "spec" && v.Rule == "" {
			t.Errorf("%+v says no reason", v)
		}
	})
}
