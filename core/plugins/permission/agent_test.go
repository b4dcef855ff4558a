package permission_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/tool"
)

func TestDenyBlocksTheRunOrFailsTheCall(t *testing.T) {
	const rules = `{"default_behavior":"allow","on_deny":"%","rules":[{"tool":"run(x = '1')","behavior":"deny"}]}`
	for _, tt := range []struct {
		onDeny, want string
		results      []string
	}{
		{"", `blocked; permission denied for the tool run: rule 0, run(x = "1"), denies it; did look {}`,
			[]string{`ok: "done"`, `blocked: blocked: permission denied for the tool run: rule 0, run(x = "1"), denies it`, "not_executed: not executed: an earlier call was blocked"}},
		{"block_run", `blocked; permission denied for the tool run: rule 0, run(x = "1"), denies it; did look {}`,
			[]string{`ok: "done"`, `blocked: blocked: permission denied for the tool run: rule 0, run(x = "1"), denies it`, "not_executed: not executed: an earlier call was blocked"}},
		{"fail_call", `natural_end; did look {}; did run {"x":2}`,
			[]string{`ok: "done"`, `denied: denied: rule 0, run(x = "1"), denies it`, `ok: "done"`}},
	} {
		for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
			w := newWorld(t, options{rules: replace(rules, tt.onDeny), mode: mode})
			equal(t, tt.onDeny, w.says("a", `look {}`, `run {"x":1}`, `run {"x":2}`), tt.want)
			same(t, tt.onDeny+" "+string(mode), w.results(), tt.results...)
		}
	}
}

func TestTheDefaultDenies(t *testing.T) {
	w := newWorld(t, options{rules: `{"default_behavior":"deny","on_deny":"fail_call","rules":[{"tool":"look","behavior":"allow"}]}`})
	equal(t, "run", w.says("a", `look {}`, `run {"x":1}`), `natural_end; did look {}`)
	same(t, "results", w.results(), `ok: "done"`, "denied: denied: no rule matches it, and the default behaviour denies calls of run")
}

func TestApprovedFalseNeverRunsTheTool(t *testing.T) {
	for _, said := range []core.Decision{
		no, noForGood, noToRule, {Action: core.DecisionCancel},
		{Action: core.DecisionCancel, Payload: json.RawMessage(`{"approved":true}`)},
		{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":false,"why":1}`)},
	} {
		w := newWorld(t, options{rules: `{}`})
		w.says("a", `run {"x":1}`)
		equal(t, fmt.Sprintf("%+v", said), w.decides(said), "natural_end")
	}
}

// A deny that comes between question and answer holds: the gate is asked again.
func TestADenyHoldsBehindAnApproval(t *testing.T) {
	g := &granting{}
	w := newWorld(t, options{rules: `{}`, plugins: []plugin.Plugin{g}, tools: []tool.Tool{noting("forbid", func(tool.Call) (tool.Result, error) {
		return tool.NewResult("done").With(permission.Rule{Tool: "run", Behavior: permission.Deny}.Grant("a")), nil
	})}, mode: agent.ParallelStreaming})
	equal(t, "both ask", w.says("a", `run {"x":1}`, `forbid {}`), `suspended; asks run {"x":1}; asks forbid {}`)
	tickets := w.result.Tickets
	w.result.Tickets = tickets[1:]
	equal(t, "forbid", w.decides(yes), `suspended; asks run {"x":1}`)
	equal(t, "run", w.decides(yes), `blocked; permission denied for the tool run: the granted rule run denies it`)
}

func TestToolsThatAreAlwaysDeniedAreHidden(t *testing.T) {
	for _, tt := range []struct {
		name, rules string
		shown       []string
	}{
		{"none", `{"default_behavior":"allow"}`, []string{"drop_all", "drop_one", "look", "run"}},
		{"exact", `{"rules":[{"tool":"run","behavior":"deny"}]}`, []string{"drop_all", "drop_one", "look"}},
		{"glob", `{"rules":[{"tool":"drop_*","behavior":"deny"},{"tool":"drop_one","behavior":"allow"}]}`, []string{"look", "run"}},
		{"regex", `{"rules":[{"tool":"/^drop|run$/","behavior":"deny"}]}`, []string{"look"}},
		{"any arguments", `{"rules":[{"tool":"run(*)","behavior":"deny"}]}`, []string{"drop_all", "drop_one", "look"}},
		{"some arguments", `{"rules":[{"tool":"run(x ~ '*')","behavior":"deny"}]}`, []string{"drop_all", "drop_one", "look", "run"}},
		{"the default", `{"default_behavior":"deny","rules":[{"tool":"look","behavior":"allow"},{"tool":"run(x = 'y')","behavior":"ask"}]}`, []string{"look", "run"}},
		{"some arguments beside", `{"rules":[{"tool":"drop_all","behavior":"deny"},{"tool":"run(x ~ '*')","behavior":"deny"}]}`, []string{"drop_one", "look", "run"}},
		{"another case", `{"rules":[{"tool":"RUN","behavior":"deny"}]}`, []string{"drop_all", "drop_one", "look", "run"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, options{rules: tt.rules, tools: []tool.Tool{noting("drop_all", nil), noting("drop_one", nil)}})
			w.says("a", "look {}")
			same(t, "shown", w.model.shown, tt.shown...)
		})
	}
	g := &granting{[]permission.Rule{{Tool: "drop_*", Behavior: permission.Ask}}}
	w := newWorld(t, options{rules: `{"default_behavior":"deny"}`, tools: []tool.Tool{noting("drop_all", nil)}, plugins: []plugin.Plugin{g}})
	w.says("a", "nothing {}")
	same(t, "shown with a grant", w.model.shown, "drop_all")
}

func TestRulesThatMatchNoToolAreWarnedOf(t *testing.T) {
	parts := func(strict bool) agent.Parts {
		return agent.Parts{
			Specs: []agent.Spec{{
				ID: "a", Model: "m", Strict: strict, Plugins: []string{"permission"},
				Sections: plugin.Sections(permission.Section.Setting(permission.Config{Rules: []permission.Rule{
					{Tool: "run", Behavior: permission.Ask}, {Tool: "rnu(x ~ 'y')", Behavior: permission.Deny}, {Tool: "mcp__*", Behavior: permission.Ask},
				}})),
			}},
			Models:  map[string]agent.ModelBinding{"m": {Model: &obeys{}}},
			Plugins: []plugin.Plugin{permission.Plugin{}},
			Tools:   []tool.Tool{noting("run", nil)},
		}
	}
	r, err := registry.New(parts(false))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings() {
		got = append(got, w.String())
	}
	same(t, "warnings", got, `agent "a": sections.permission.rules[1].tool "rnu(x ~ 'y')" matches no tool`, `agent "a": sections.permission.rules[2].tool "mcp__*" matches no tool`)
	if _, err = registry.New(parts(true)); err == nil || err.Error() != `agent "a": sections.permission.rules[1].tool "rnu(x ~ 'y')" matches no tool` {
		t.Errorf("strict: %v", err)
	}
}

// An agent's file in YAML has its rules, and each agent has its own.
func TestRulesInAFile(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {Data: []byte(`
agents:
  - id: careful
    model: m
    plugins: [permission]
    sections:
      permission:
        default_behavior: ask
        rules:
          - tool: look
            behavior: allow
          - {tool: "run(x ~ 'rm *')", behavior: deny}
  - {id: bold, model: m, plugins: [permission], sections: {permission: {default_behavior: allow}}}
`)}}
	parts, err := specfile.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, model: &obeys{}}
	parts.Models, parts.Plugins = map[string]agent.ModelBinding{"m": {Model: w.model}}, []plugin.Plugin{permission.Plugin{}}
	parts.Tools = []tool.Tool{w.tool("run"), w.tool("look")}
	if w.Host, err = host.New(host.Options{Agents: parts}); err != nil {
		t.Fatal(err)
	}
	equal(t, "careful", w.says("careful", `look {}`, `run {"x":"ls"}`), `suspended; asks run {"x":"ls"}; did look {}`)
	w.decides(no)
	equal(t, "bold", w.says("bold", `run {"x":"rm -r"}`), `natural_end; did run {"x":"rm -r"}`)
	equal(t, "careful", w.says("careful", `run {"x":"rm -r"}`), `blocked; permission denied for the tool run: rule 1, run(x ~ "rm *"), denies it`)
	c, err := permission.Of(parts.Specs[0])
	if err != nil {
		t.Fatal(err)
	}
	v, err := permission.Judge(c, "careful", "run", `{"x":"rm"}`, w.result.State)
	if err != nil || v.Behavior != permission.Ask {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestTheConfigOfASpec(t *testing.T) {
	spec := agent.Spec{ID: "a", Plugins: []string{"permission"}}
	if c, err := permission.Of(spec); err != nil || c.Rules != nil {
		t.Errorf("without a section: %+v, %v", c, err)
	}
	spec.Sections = map[string]json.RawMessage{"permission": json.RawMessage(`{"rules":[{"tool":"x"}]}`)}
	if _, err := permission.Of(spec); err == nil || err.Error() != `agent "a": permission: rules[0].behavior is "", allowed are allow, ask, deny` {
		t.Errorf("%v", err)
	}
	spec.Sections = plugin.Sections(permission.Section.Setting(permission.Config{Rules: []permission.Rule{{Tool: "x"}}}))
	if _, err := permission.Of(spec); err == nil || err.Error() != `agent "a": permission: rules[0].behavior is "", allowed are allow, ask, deny` {
		t.Errorf("of a setting: %v", err)
	}
	spec.ActiveHookFilter = []string{"other"}
	if _, err := permission.Of(spec); err == nil || err.Error() != `agent "a" does not have the plugin "permission", or does not let it decide: all its calls run` {
		t.Errorf("%v", err)
	}
}

// Of several arguments the schema says which is the primary one.
func TestTheToolsSchemaSaysThePrimaryArgument(t *testing.T) {
	spec := tool.Spec{Name: "sh", Parameters: json.RawMessage(`{"type":"object","required":["command"],"properties":{"command":{"type":"string"},"note":{"type":"string"}}}`)}
	sh := toolFunc{spec, func(tool.Call) (tool.Result, error) { return tool.NewResult("done"), nil }}
	w := newWorld(t, options{tools: []tool.Tool{sh}, rules: `{"rules":[{"tool":"sh(npm *)","behavior":"allow"},{"tool":"sh(rm *)","behavior":"deny"}]}`})
	equal(t, "allowed", w.says("a", `sh {"note":"rm x","command":"npm i"}`), `natural_end`)
	equal(t, "denied", w.says("a", `sh {"note":"x","command":"rm x"}`), `blocked; permission denied for the tool sh: rule 1, sh(rm *), denies it`)
}

// What a person was asked before is previewed too.
func TestPreviewSeesWhatIsRemembered(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	w.says("a", `run {"x":1}`)
	w.decides(yesForGood)
	c, err := permission.Decode([]byte(asks))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		agent, arguments string
		want             permission.Behavior
		source           string
	}{
		{"a", `{"x":1}`, "allow", "remembered"},
		{"a", `{"x":2}`, "ask", "spec"},
		{"b", `{"x":1}`, "ask", "spec"},
	} {
		v, err := permission.Judge(c, tt.agent, "run", tt.arguments, w.result.State)
		if err != nil || v.Behavior != tt.want || string(v.Source) != tt.source {
			t.Errorf("%s %s: %+v, %v", tt.agent, tt.arguments, v, err)
		}
	}
}
