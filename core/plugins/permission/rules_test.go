package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/state"
)

// preview is what a section makes of a call, such as: run {"x":1}.
func preview(t *testing.T, section, call string) permission.Ruling {
	t.Helper()
	c, err := permission.Decode([]byte(section))
	if err != nil {
		t.Fatal(err)
	}
	name, arguments, _ := strings.Cut(call, " ")
	r, err := permission.Judge(c, "", name, arguments, state.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDenyBeatsAllowBeatsAsk(t *testing.T) {
	const all = `{"rules":[
		{"tool":"run(x = 'a')","behavior":"ask"},
		{"tool":"run(x = 'b')","behavior":"ask"},
		{"tool":"run(x ~ '[bc]')","behavior":"allow"},
		{"tool":"/r/","behavior":"ask"},
		{"tool":"*(x ~ '*')","behavior":"ask"},
		{"tool":"/u(n)/(x = 'c')","behavior":"deny"}]}`
	for _, tt := range []struct {
		call string
		want permission.Ruling
	}{
		{`run {"x":"a"}`, permission.Ruling{Behavior: "ask", Source: "spec", Rule: `run(x = "a")`, Index: 0, Why: `rule 0, run(x = "a"), asks about it`}},
		{`run {"x":"b"}`, permission.Ruling{Behavior: "allow", Source: "spec", Rule: `run(x ~ "[bc]")`, Index: 2, Why: `rule 2, run(x ~ "[bc]"), allows it`}},
		{`run {"x":"c"}`, permission.Ruling{Behavior: "deny", Source: "spec", Rule: `/u(n)/(x = "c")`, Index: 5, Why: `rule 5, /u(n)/(x = "c"), denies it`}},
		{`run {"x":"d"}`, permission.Ruling{Behavior: "ask", Source: "spec", Rule: `*(x ~ "*")`, Index: 4, Why: `rule 4, *(x ~ "*"), asks about it`}},
		{`run {"y":"d"}`, permission.Ruling{Behavior: "ask", Source: "spec", Rule: `/r/`, Index: 3, Why: `rule 3, /r/, asks about it`}},
		{`look {"y":1}`, permission.Ruling{Behavior: "ask", Source: "default", Index: -1, Why: `no rule matches it, and the default behaviour asks about calls of look`}},
	} {
		t.Run(tt.call, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, preview(t, all, tt.call), cmpopts.IgnoreUnexported(permission.Ruling{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfEqualRulesTheFirstDecides(t *testing.T) {
	r := preview(t, `{"rules":[{"tool":"r*","behavior":"deny"},{"tool":"*n","behavior":"deny"}]}`, `run {}`)
	if r.Index != 0 {
		t.Errorf("rule %d decides, want 0", r.Index)
	}
}

func TestTheDefaultIsToAsk(t *testing.T) {
	for section, want := range map[string]permission.Behavior{
		`{}`: "ask", `{"default_behavior":"ask"}`: "ask", `{"default_behavior":"allow"}`: "allow", `{"default_behavior":"deny"}`: "deny",
		`{"default_behavior":""}`: "ask", `{"rules":[]}`: "ask", `{"rules":null}`: "ask",
	} {
		if got := preview(t, section, `run {}`).Behavior; got != want {
			t.Errorf("%s: %s, want %s", section, got, want)
		}
	}
}

func TestWildcardsCrossSlashes(t *testing.T) {
	const rules = `{"default_behavior":"allow","rules":[{"tool":"Bash(command ~ '*rm -rf*')","behavior":"deny"},{"tool":"Edit(*.env)","behavior":"deny"}]}`
	for _, call := range []string{
		`Bash {"command":"cd /tmp && rm -rf x"}`, `Bash {"command":"cd /a/b\n/bin/rm -rf /"}`, `Edit {"path":"a/b/.env"}`, `Edit {"path":".env"}`,
	} {
		if got := preview(t, rules, call).Behavior; got != "deny" {
			t.Errorf("%s: %s, want deny", call, got)
		}
	}
}

// An allow rule looks at every reading of a call, and spells nothing otherwise.
func TestAnAllowRuleIsStrict(t *testing.T) {
	const rules = `{"rules":[{"tool":"run(x ~ 'npm *')","behavior":"allow"}]}`
	for call, want := range map[string]permission.Behavior{
		`run {"x":"npm test"}`: "allow", `run {"x":"\u006epm test"}`: "allow",
		`run {"x":"NPM test"}`: "ask", `run {"X":"npm test"}`: "ask", `run {"x":"ｎpm test"}`: "ask",
		`run {"x":"npm test","x":"rm"}`: "ask", `run {"x":"rm","x":"npm test"}`: "ask", `run {"x":"npm test","X":"rm"}`: "ask",
		`Run {"x":"npm test"}`: "ask",
	} {
		if got := preview(t, rules, call).Behavior; got != want {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
}

func TestADenyOrAskRuleIsNotAvoided(t *testing.T) {
	for _, behavior := range []permission.Behavior{"deny", "ask"} {
		rules := replace(`{"default_behavior":"allow","rules":[
			{"tool":"run(x ~ '*rm -rf /etc*')","behavior":"%"},
			{"tool":"edit(path =~ '^/etc/(passwd|gr[oö]up)')","behavior":"%"},
			{"tool":"say(to = 'Éva')","behavior":"%"},
			{"tool":"pay(amount = '100')","behavior":"%"},
			{"tool":"only(path !~ 'src/*', mode != 'read')","behavior":"%"},
			{"tool":"glob(x ~ 'a[b-d]?[!0-9]')","behavior":"%"},
			{"tool":"first(rm *)","behavior":"%"}]}`, string(behavior))
		for _, call := range []string{
			`run {"x":"rm -rf /etc"}`, `run {"X":"rm -rf /etc"}`, `run {"x":"RM -RF /ETC/"}`, `run {"x":"\u0072m -rf \/etc"}`,
			`run {"x":"ｒｍ -rf /etc"}`, `run {"x":"r\u200bm -rf /etc"}`, `run {"x":"rm\u00a0-rf /etc"}`, `run {"x":"r\u034fm -rf /\u3164etc"}`, `run {"x":"rm -rf /\u00adetc\ufe0f"}`,
			`run {"x":"ls","x":"rm -rf /etc"}`, `run {"x":"rm -rf /etc","x":"ls"}`, `run {"X":"rm -rf /etc","x":"ls"}`,
			"run \t{ \"y\" : 1 ,\r\n \"x\":\"rm -rf /etc\"}", `run {"ｘ":"rm -rf /etc"}`, `run {"x":"rm -rf /etc\u0000"}`,
			`edit {"path":"/etc/passwd"}`, `edit {"path":"/ETC/Passwd"}`, `edit {"path":"/etc/gro\u0308up"}`, `edit {"path":"／etc/passwd"}`,
			`edit {"path":"/etc/paſſwd"}`, `edit {"path":"/etc/GRÖUP"}`, `edit {"path":["/etc/passwd"],"Path":"/etc/passwd"}`,
			`say {"to":"Éva"}`, `say {"to":"E\u0301va"}`, `say {"to":"éva"}`, `say {"to":"E\u200d\u0301VA"}`,
			`pay {"amount":100}`, `pay {"amount":1e2}`, `pay {"amount":100.000}`, `pay {"amount":"100"}`, `pay {"amount":"１００"}`, `pay {"amount":1000e-1}`,
			`only {"path":"SRC/x","mode":"write"}`, `only {"path":"/x","mode":"Read"}`, `only {"path":"x","mode":"ｒead"}`, `only {"Path":"x","MODE":"w"}`,
			`glob {"x":"ACxy"}`, `glob {"x":"aⒸxy"}`, `glob {"x":"Ｄ"}`[:5] + `{"x":"aＤ.é"}`, `glob {"x":"abÉx"}`, `glob {"x":"abE\u0301X"}`,
			`first {"c":"rm x"}`, `first {"c":"RM x"}`, `first {"c":"x","C":"rm y"}`, `first {"C":"rm y","c":"x"}`,
		} {
			if got := preview(t, rules, call).Behavior; got != behavior {
				t.Errorf("%s: %s, want %s", call, got, behavior)
			}
		}
		for _, call := range []string{`run {"x":"rm -r"}`, `edit {"path":"/etc"}`, `say {"to":"Eva"}`, `pay {"amount":101}`, `only {"path":"src/x","mode":"w"}`, `only {"path":"x","mode":"read"}`, `only {"mode":"w"}`, `glob {"x":"aexy"}`, `glob {"x":"abx1"}`, `RUN {"x":"rm -rf /etc"}`} {
			if got := preview(t, rules, call).Behavior; got != "allow" {
				t.Errorf("%s: %s, want allow", call, got)
			}
		}
	}
}

func TestBadSections(t *testing.T) {
	for section, want := range map[string]string{
		`[]`:                           `value is a list, want an object`,
		`{"default_behaviour":"ask"}`:  `unknown field "default_behaviour", did you mean "default_behavior"?`,
		`{"default_behavior":"maybe"}`: `default_behavior is "maybe", allowed are allow, ask, deny`,
		`{"on_deny":"explode"}`:        `on_deny is "explode", allowed are block_run, fail_call`,
		`{"rules":[{"tool":"a","behavior":"ask"},{"tool":"b"}]}`:                           `rules[1].behavior is "", allowed are allow, ask, deny`,
		`{"rules":[{"tool":"a","behavior":"Deny"}]}`:                                       `rules[0].behavior is "Deny", allowed are allow, ask, deny`,
		`{"rules":[{"behavior":"ask"}]}`:                                                   `rules[0].tool: pattern "" at byte 0: is empty, want a tool's name such as Bash, a glob such as mcp__* or a regular expression such as /^mcp__/`,
		`{"rules":[{"tool":"a(","behavior":"ask"}]}`:                                       `rules[0].tool: pattern "a(" at byte 2: no ) at the end; a single parenthesis within is written [(] or [)]`,
		`{"rules":[{"tool":"/(/","behavior":"deny"}]}`:                                     `rules[0].tool: pattern "/(/" at byte 0: regular expression has no / at its end`,
		`{"rules":[{"tool":"a(x =~ '[')","behavior":"deny"}]}`:                             `rules[0].tool: pattern "a(x =~ '[')" at byte 8: regular expression "["`,
		`{"rules":[{"tool":"a","behavior":"ask"},{"tool":"a","behavior":"ask","wehn":1}]}`: `unknown field "wehn" in rules[1], allowed are tool, behavior, scope`,
		`{"rules":[{"tool":7,"behavior":"ask"}]}`:                                          `rules[0].tool is 7, want a string`,
		`{"rules":["a"]}`: `rules[0] is "a", want an object`,
		`{"rules":[{"tool":"a","behavior":"allow","scope":"ever"}]}`:                 `rules[0].scope is "ever", allowed are once, run, thread, project`,
		`{"rules":[{"tool":"a","behavior":"allow","scope":"run"}]}`:                  `rules[0].scope "run" is invalid for a rule with behavior allow here, allowed are project, once`,
		`{"rules":[{"tool":"a","behavior":"deny","scope":"once"}]}`:                  `rules[0].scope "once" is invalid for a rule with behavior deny here, allowed are project`,
		`{"rules":[{"tool":"` + strings.Repeat("a", 1025) + `","behavior":"deny"}]}`: `rules[0].tool: pattern "aaaa`,
	} {
		_, err := permission.Decode([]byte(section))
		if err == nil || !strings.HasPrefix(err.Error(), "permission: "+want) {
			t.Errorf("%s:\n got %v\nwant permission: %s", section, err, want)
		}
		// The same at start, with the agent's name.
		_, err = registry.New(agent.Parts{
			Specs:   []agent.Spec{{ID: "a", Model: "m", Plugins: []string{"permission"}, Sections: map[string]json.RawMessage{"permission": json.RawMessage(section)}}},
			Models:  map[string]agent.ModelBinding{"m": {Model: model.None{}}},
			Plugins: []plugin.Plugin{permission.Plugin{}},
		})
		if prefix := `resolving agent "a": registering plugin "permission": section "permission": `; err == nil || !strings.HasPrefix(err.Error(), prefix+want) {
			t.Errorf("%s:\n got %v\nwant %s", section, err, prefix+want)
		}
	}
}

func TestTheSchemaOfTheSection(t *testing.T) {
	schema, err := permission.Section.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Properties struct {
			Rules struct {
				Items struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal(schema, &got); err != nil || len(got.Properties.Rules.Items.Properties) != 3 {
		t.Errorf("%v in %s, want the three members of a rule", err, schema)
	}
}
