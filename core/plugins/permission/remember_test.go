package permission_test

import (
	"context"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

const asks = `{"default_behavior":"allow","rules":[{"tool":"run","behavior":"ask"}]}`

func TestWithoutRememberEachCallIsAskedAbout(t *testing.T) {
	for _, d := range []core.Decision{yes, yesThisOnce} {
		w := newWorld(t, options{rules: asks})
		equal(t, "first", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
		equal(t, "approved", w.decides(d), `natural_end; did run {"x":1}`)
		equal(t, "again", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
	}
}

func TestRememberForTheThreadAsksOnceAboutTheSameCall(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	equal(t, "first", w.says("a", `run {"x":1,"y":"r"}`), `suspended; asks run {"x":1,"y":"r"}`)
	equal(t, "approved", w.decides(yesForGood), `natural_end; did run {"x":1,"y":"r"}`)
	equal(t, "again", w.says("a", `run {"x":1,"y":"r"}`), `natural_end; did run {"x":1,"y":"r"}`)
	equal(t, "spelled otherwise", w.says("a", `run {"y":"\u0072", "x":10e-1}`), `natural_end; did run {"y":"\u0072","x":10e-1}`)
	equal(t, "another call", w.says("a", `run {"x":2,"y":"r"}`), `suspended; asks run {"x":2,"y":"r"}`)
	equal(t, "once", w.decides(yes), `natural_end; did run {"x":2,"y":"r"}`)
	equal(t, "in another case", w.says("a", `run {"x":1,"y":"R"}`), `suspended; asks run {"x":1,"y":"R"}`)
}

// The same tool and arguments as another agent of the thread was allowed.
func TestAnotherAgentDoesNotInheritWhatIsRemembered(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	w.says("a", `run {"x":1}`)
	w.decides(yesForGood)
	equal(t, "b", w.says("b", `run {"x":1}`), `suspended; asks run {"x":1}`)
	w.decides(no)
	equal(t, "a", w.says("a", `run {"x":1}`), `natural_end; did run {"x":1}`)
}

func TestRememberForTheRunEndsWithTheRun(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	equal(t, "the first of two", w.says("a", `run {"x":1}`, `run {"x":1}`), `suspended; asks run {"x":1}`)
	equal(t, "approved", w.decides(yesForRun), `natural_end; did run {"x":1}; did run {"x":1}`)
	equal(t, "next run", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
}

func TestRememberAsRuleIsForWhatTheRuleAsksAbout(t *testing.T) {
	w := newWorld(t, options{rules: `{"default_behavior":"allow","rules":[
		{"tool":"run","behavior":"ask"},{"tool":"run(x ~ 'rm *')","behavior":"ask"},{"tool":"run(x = 'halt')","behavior":"deny"}]}`})
	equal(t, "first", w.says("a", `run {"x":"ls"}`), `suspended; asks run {"x":"ls"}`)
	equal(t, "approved", w.decides(yesToRule), `natural_end; did run {"x":"ls"}`)
	equal(t, "another call", w.says("a", `run {"x":"pwd"}`), `natural_end; did run {"x":"pwd"}`)
	equal(t, "of a rule that is more specific", w.says("a", `run {"x":"rm -r"}`), `suspended; asks run {"x":"rm -r"}`)
	same(t, "the rule is said", []string{string(w.result.Tickets[0].Suspension.Parameters)}, `{"tool":"run","arguments":{"x":"rm -r"},"rule":"run(x ~ \"rm *\")"}`)
	equal(t, "approved", w.decides(yesToRule), `natural_end; did run {"x":"rm -r"}`)
	equal(t, "another of it", w.says("a", `run {"x":"rm -f"}`), `natural_end; did run {"x":"rm -f"}`)
	equal(t, "with two readings", w.says("a", `run {"x":"rm -f","X":"dd"}`), `suspended; asks run {"x":"rm -f","X":"dd"}`)
	w.decides(yesForGood)
	equal(t, "which cannot be remembered", w.says("a", `run {"x":"rm -f","X":"dd"}`), `suspended; asks run {"x":"rm -f","X":"dd"}`)
	w.decides(no)
	equal(t, "denied by a rule", w.says("a", `run {"x":"halt"}`), `blocked; permission denied for the tool run: rule 2, run(x = "halt"), denies it`)
}

func TestRememberAsRuleOfTheDefaultIsForTheTool(t *testing.T) {
	w := newWorld(t, options{rules: `{}`})
	equal(t, "first", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
	equal(t, "approved", w.decides(yesToRule), `natural_end; did run {"x":1}`)
	equal(t, "another call", w.says("a", `run {"x":2}`), `natural_end; did run {"x":2}`)
	equal(t, "another tool", w.says("a", `look {"x":1}`), `suspended; asks look {"x":1}`)
}

func TestARememberedDenialIsNotAskedAboutAgain(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	w.says("a", `run {"x":1}`)
	equal(t, "denied", w.decides(noForGood), `natural_end`)
	same(t, "result", w.results(), "denied: denied")
	equal(t, "again", w.says("a", `run {"x":1}`), `natural_end`)
	same(t, "result", w.results(), "denied: denied: a person has denied the same call of run")
	equal(t, "another call", w.says("a", `run {"x":2}`), `suspended; asks run {"x":2}`)
	equal(t, "all of them", w.decides(noToRule), `natural_end`)
	same(t, "result", w.results(), "denied: denied: never")
	equal(t, "any", w.says("a", `run {"x":3}`), `natural_end`)
	same(t, "result", w.results(), "denied: denied: a person has denied what the rule run asks about")
	equal(t, "of another agent", w.says("b", `run {"x":3}`), `suspended; asks run {"x":3}`)
}

func TestARefusalWithoutRememberIsAskedAboutAgain(t *testing.T) {
	w := newWorld(t, options{rules: asks})
	w.says("a", `run {"x":1}`)
	equal(t, "denied", w.decides(no), `natural_end`)
	equal(t, "again", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
}

// Two calls of a round say opposite things about the same call: the deny counts.
func TestADenyStandsAboveARememberedAllow(t *testing.T) {
	w := newWorld(t, options{rules: asks, mode: agent.ParallelStreaming})
	equal(t, "both", w.says("a", `run {"x":1}`, `run {"x":1}`), `suspended; asks run {"x":1}; asks run {"x":1}`)
	second := w.result
	second.Tickets = second.Tickets[1:]
	tickets := w.result.Tickets
	w.result.Tickets = tickets[:1]
	w.decides(noForGood)
	w.result.Tickets = tickets[1:]
	equal(t, "the second", w.decides(yesForGood), `natural_end`)
	same(t, "results", w.results(), "denied: denied", "denied: denied: a person has denied the same call of run")
	equal(t, "again", w.says("a", `run {"x":1}`), `natural_end`)
	same(t, "result", w.results(), "denied: denied: a person has denied the same call of run")
}

// Both are decided before either goes on.
func TestOfTwoAnswersToTheSameTheDenyCounts(t *testing.T) {
	w := newWorld(t, options{rules: asks, mode: agent.ParallelBatchApproval})
	w.says("a", `run {"x":1}`, `run {"x":1}`)
	first, second := w.result.Tickets[0].Suspension.ID, w.result.Tickets[1].Suspension.ID
	equal(t, "decided", w.resumes(mailbox.Deciding{Target: first, Decision: yesForGood}, mailbox.Deciding{Target: second, Decision: noForGood}),
		`natural_end; did run {"x":1}`)
	equal(t, "again", w.says("a", `run {"x":1}`), `natural_end`)
	same(t, "result", w.results(), "denied: denied: a person has denied the same call of run")
}

// While a call waits, something else allows it: what the person says of the call is
// remembered, and of a rule that asks there is none any more.
func TestAnAnswerToWhatIsAllowedMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		said core.Decision
		next string
	}{
		{yesForGood, `natural_end; did run {"x":1}`},
		{yesToRule, `suspended; asks run {"x":1}`},
	} {
		permit := noting("permit", func(tool.Call) (tool.Result, error) {
			return tool.NewResult("done").With(permission.Rule{Tool: "run", Behavior: permission.Allow}.Grant("a")), nil
		})
		w := newWorld(t, options{rules: `{"rules":[{"tool":"run","behavior":"ask"}]}`, mode: agent.ParallelStreaming, tools: []tool.Tool{permit}})
		w.says("a", `run {"x":1}`, `permit {}`)
		tickets := w.result.Tickets
		w.result.Tickets = tickets[1:]
		w.decides(yes)
		w.result.Tickets = tickets[:1]
		equal(t, "approved", w.decides(tt.said), `natural_end; did run {"x":1}`)
		equal(t, "next run", w.says("a", `run {"x":1}`), tt.next)
	}
}

var gated = state.Counter("gated", state.ScopeThread)

// counting is a plugin whose gate counts the calls.
type counting struct{}

func (counting) ID() string { return "counting" }

func (counting) Register(r *plugin.Registrar) error {
	r.Key(gated)
	r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
		return plugin.Allow.With(gated.Update(1)), nil
	})
	return nil
}

// Gates of a call that is denied change nothing: only what remembers the refusal counts.
func TestARememberedRefusalKeepsNothingOfOtherGates(t *testing.T) {
	w := newWorld(t, options{rules: asks, plugins: []plugin.Plugin{counting{}}})
	w.says("a", `run {"x":1}`)
	w.decides(noForGood)
	if n, err := gated.Read(w.result.State); n != 0 || err != nil {
		t.Errorf("%d calls were counted, %v; want none", n, err)
	}
}

// A decision is remembered although the tool itself waits for something else before its
// result comes.
func TestRememberLivesThroughASuspensionOfTheTool(t *testing.T) {
	goOn := core.Decision{Action: core.DecisionResume, Payload: []byte(`"go on"`)}
	waits := noting("wait", func(c tool.Call) (tool.Result, error) {
		if c.Resume == nil || string(c.Resume.Decision.Payload) != `"go on"` {
			return tool.Suspended(core.TicketRequest{Action: "tool:wait"}), nil
		}
		return tool.NewResult("done"), nil
	})
	for _, tt := range []struct {
		name, scope string
		said        core.Decision
		again       string // who asks about the next call
	}{
		{"said so", "project", yesForGood, "tool:wait"},
		{"said by the rule", "thread", yes, "tool:wait"},
		{"said not to", "thread", yesThisOnce, "tool:PermissionConfirm"},
		{"not said", "project", yes, "tool:PermissionConfirm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, options{tools: []tool.Tool{waits}, rules: replace(`{"rules":[{"tool":"wait","behavior":"ask","scope":"%"}]}`, tt.scope)})
			w.says("a", `wait {"x":1}`)
			equal(t, "asked by", w.result.Tickets[0].Suspension.Action, "tool:PermissionConfirm")
			w.decides(tt.said)
			equal(t, "then by", w.result.Tickets[0].Suspension.Action, "tool:wait")
			equal(t, "answered", w.decides(goOn), "natural_end")
			w.says("a", `wait {"x":1}`)
			equal(t, "the next call by", w.result.Tickets[0].Suspension.Action, tt.again)
		})
	}
}

func TestAnAskRuleOfAScopeAsksOnceInIt(t *testing.T) {
	const rules = `{"default_behavior":"allow","rules":[{"tool":"run","behavior":"ask","scope":"%"}]}`
	for _, tt := range []struct{ scope, sameRun, nextRun string }{
		{"project", `suspended; asks run {"x":2}; did run {"x":1}`, `suspended; asks run {"x":3}`},
		{"once", `suspended; asks run {"x":2}; did run {"x":1}`, `suspended; asks run {"x":3}`},
		{"run", `natural_end; did run {"x":1}; did run {"x":2}`, `suspended; asks run {"x":3}`},
		{"thread", `natural_end; did run {"x":1}; did run {"x":2}`, `natural_end; did run {"x":3}`},
	} {
		t.Run(tt.scope, func(t *testing.T) {
			w := newWorld(t, options{rules: replace(rules, tt.scope)})
			equal(t, "first", w.says("a", `run {"x":1}`, `run {"x":2}`), `suspended; asks run {"x":1}`)
			equal(t, "approved", w.decides(yes), tt.sameRun)
			if len(w.result.Tickets) > 0 {
				w.decides(yes)
			}
			equal(t, "next run", w.says("a", `run {"x":3}`), tt.nextRun)
		})
	}
	w := newWorld(t, options{rules: replace(rules, "thread")})
	w.says("a", `run {"x":1}`)
	w.decides(yesThisOnce)
	equal(t, "approved once, whatever the rule says", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
	w.decides(no)
	equal(t, "a denial is none of it", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
}

func TestARuleThatAllowsOnceIsUsedUpByOneCall(t *testing.T) {
	const rules = `{"rules":[{"tool":"run","behavior":"allow","scope":"once"},{"tool":"look","behavior":"allow","scope":"once"}]}`
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		w := newWorld(t, options{rules: rules, mode: mode})
		equal(t, string(mode), w.says("a", `run {"x":1}`, `run {"x":2}`), `suspended; asks run {"x":2}; did run {"x":1}`)
		equal(t, "approved", w.decides(yes), `natural_end; did run {"x":2}`)
		equal(t, "next run", w.says("a", `run {"x":1}`), `natural_end; did run {"x":1}`)
		equal(t, "next turn", w.says("a", `run {"x":1}`, `then`, `look {}`, `run {"x":2}`), `suspended; asks run {"x":2}; did look {}; did run {"x":1}`)
		equal(t, "approved", w.decides(yes), `natural_end; did run {"x":2}`)
		equal(t, "side by side, behind another", w.says("a", `run {"x":1}`, `then`, `look {"x":1}`, `look {"x":2}`), `suspended; asks look {"x":2}; did look {"x":1}; did run {"x":1}`)
		w.decides(no)
	}
}

// granting is a plugin that grants a rule at the start of each run whose message says so.
type granting struct{ rules []permission.Rule }

func (granting) ID() string { return "granting" }

func (g *granting) Register(r *plugin.Registrar) error {
	r.OnRunStart(func(_ context.Context, c plugin.RunStart) (all state.Command, err error) {
		for _, rule := range g.rules {
			all.Append(rule.Grant(c.Agent.ID))
		}
		return all, nil
	})
	return nil
}

func TestScopesOfRulesThatAreGranted(t *testing.T) {
	for _, tt := range []struct {
		scope         core.Remember
		first, second string
	}{
		{"", `natural_end; did run {"x":1}; did run {"x":2}`, `suspended; asks run {"x":3}`},
		{core.RememberRun, `natural_end; did run {"x":1}; did run {"x":2}`, `suspended; asks run {"x":3}`},
		{core.RememberThread, `natural_end; did run {"x":1}; did run {"x":2}`, `natural_end; did run {"x":3}`},
		{core.RememberOnce, `suspended; asks run {"x":2}; did run {"x":1}`, `suspended; asks run {"x":3}`},
	} {
		t.Run(string(tt.scope)+" of the next turn", func(t *testing.T) {
			g := &granting{[]permission.Rule{{Tool: "run", Behavior: permission.Allow, Scope: tt.scope}}}
			w := newWorld(t, options{rules: `{}`, plugins: []plugin.Plugin{g}})
			equal(t, "two turns", w.says("a", `run {"x":1}`, "then", `run {"x":2}`), tt.first)
		})
		for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
			t.Run(string(tt.scope)+" "+string(mode), func(t *testing.T) {
				g := &granting{[]permission.Rule{{Tool: "run", Behavior: permission.Allow, Scope: tt.scope}}}
				w := newWorld(t, options{rules: `{}`, mode: mode, plugins: []plugin.Plugin{g}})
				equal(t, "first run", w.says("a", `run {"x":1}`, `run {"x":2}`), tt.first)
				if len(w.result.Tickets) > 0 {
					w.decides(no)
				}
				g.rules = nil
				equal(t, "next run", w.says("a", `run {"x":3}`), tt.second)
				w.decidesIfAsked(no)
				equal(t, "another agent", w.says("b", `run {"x":3}`), `suspended; asks run {"x":3}`)
			})
		}
	}
}

func TestWhatWasGrantedOnceIsGrantedOnceMore(t *testing.T) {
	permit := noting("look_up", func(tool.Call) (tool.Result, error) {
		return tool.NewResult("done").With(permission.Rule{Tool: "run", Behavior: permission.Allow, Scope: core.RememberOnce}.Grant("a")), nil
	})
	w := newWorld(t, options{rules: `{"rules":[{"tool":"look_up","behavior":"allow"}]}`, tools: []tool.Tool{permit}})
	equal(t, "run", w.says("a", `look_up {}`, `run {"x":1}`, "then", `look_up {}`, `run {"x":2}`, "then", `run {"x":3}`), `suspended; asks run {"x":3}; did run {"x":1}; did run {"x":2}`)
}

func TestWhatIsForgottenIsAskedAboutAgain(t *testing.T) {
	forget := noting("forget", func(tool.Call) (tool.Result, error) { return tool.NewResult("done").With(permission.Forget()), nil })
	g := &granting{[]permission.Rule{{Tool: "look", Behavior: permission.Allow, Scope: core.RememberRun}}}
	w := newWorld(t, options{rules: `{"rules":[{"tool":"forget","behavior":"allow"}]}`, tools: []tool.Tool{forget}, plugins: []plugin.Plugin{g}})
	w.says("a", `run {"x":1}`)
	w.decides(yesForGood)
	equal(t, "remembered", w.says("a", `run {"x":1}`, `look {}`), `natural_end; did look {}; did run {"x":1}`)
	equal(t, "what was granted is forgotten", w.says("a", `forget {}`, `look {}`), `suspended; asks look {}`)
	w.decides(no)
	equal(t, "what was remembered is forgotten", w.says("a", `run {"x":1}`), `suspended; asks run {"x":1}`)
}

func (w *world) decidesIfAsked(d core.Decision) {
	w.t.Helper()
	if len(w.result.Tickets) > 0 {
		w.decides(d)
	}
}

func TestAGrantedDenyStandsAboveAGrantedAllow(t *testing.T) {
	g := &granting{[]permission.Rule{{Tool: "run", Behavior: permission.Deny}, {Tool: "run", Behavior: permission.Allow}}}
	w := newWorld(t, options{rules: `{}`, plugins: []plugin.Plugin{g}})
	equal(t, "run", w.says("a", `run {"x":1}`), `blocked; permission denied for the tool run: the granted rule run denies it`)
}

func TestARuleThatCannotBeGrantedEndsTheRun(t *testing.T) {
	for want, rule := range map[string]permission.Rule{
		`rule to grant: rule.tool: pattern "run(" at byte 4: no ) at the end; a single parenthesis within is written [(] or [)]`: {Tool: "run(", Behavior: permission.Allow},
		`rule to grant: rule.behavior is "yes", allowed are allow, ask, deny`:                                                    {Tool: "run", Behavior: "yes"},
		`rule to grant: rule.scope "project" is invalid for a rule with behavior allow here, allowed are once, run, thread`:      {Tool: "run", Behavior: permission.Allow, Scope: "project"},
		`rule to grant: rule.scope "once" is invalid for a rule with behavior deny here, allowed are run, thread`:                {Tool: "run", Behavior: permission.Deny, Scope: core.RememberOnce},
	} {
		equal(t, rule.Tool, rule.Grant("a").Err.Error(), want)
	}
	if err := (permission.Rule{Tool: "run", Behavior: permission.Allow}).Grant("").Err; err == nil {
		t.Error("a rule of no agent was granted")
	}
}
