package permission

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pattern"
)

// source is the origin of a verdict on a call.
type source string

// The sources.
const (
	fromSpec    source = "spec"       // a rule of the agent's spec
	fromGrant   source = "grant"      // a rule that was granted at run time
	fromAnswer  source = "remembered" // an answer that a person gave earlier
	fromDefault source = "default"    // no rule: the default behaviour
)

// ruling is the verdict on a call, with its reason.
type ruling struct {
	Behavior Behavior
	Source   source
	Rule     string // pattern of the rule that decides, or that the remembered answer is about; empty: none
	Index    int    // of a rule of the spec, from 0; -1: not a rule
	Why      string // a sentence for people

	scope core.Remember
	used  *rule // it is used up by the call
}

// call is a tool call that is judged.
type call struct {
	pattern *pattern.Call
	agent   string
	name    string
}

// judge returns the verdict on a call. It is the whole order of the rules.
func (p *policy) judge(c call, m *memory) ruling {
	if r := p.decisive(Deny, c, m); r != nil {
		return r.ruling()
	}
	remembered := m.answerTo(c)
	if remembered == Deny {
		return answered(Deny, nil, c)
	}
	if r := p.decisive(Allow, c, m); r != nil {
		return r.ruling()
	}
	if remembered == Allow {
		return answered(Allow, nil, c)
	}
	asks := p.decisive(Ask, c, m)
	if asks == nil && p.DefaultBehavior != Ask {
		return p.byDefault(c)
	}
	// An answer to a rule is about the calls that it decides alone, and allows only what
	// it matches under every reading, as any rule that allows.
	switch answer := m.answerToRule(c, asks); {
	case answer == Deny, answer == Allow && (asks == nil || asks.pattern.MatchEvery(c.pattern)):
		return answered(answer, asks, c)
	case asks != nil:
		return asks.ruling()
	}
	return p.byDefault(c)
}

// decisive returns the most specific rule of a behaviour that matches a call, the first
// of equals, those of the spec first; nil: none does.
func (p *policy) decisive(b Behavior, c call, m *memory) (best *rule) {
	for _, rules := range [][]rule{p.rules, m.rules} {
		for i := range rules {
			r := &rules[i]
			if r.Behavior != b || !r.matches(c.pattern) || r.usedUp() && m.used[r.id] {
				continue
			}
			if best == nil || r.pattern.Specificity().Compare(best.pattern.Specificity()) > 0 {
				best = r
			}
		}
	}
	return best
}

// matches asks for every reading of the arguments where the rule allows.
func (r *rule) matches(c *pattern.Call) bool {
	if r.Behavior == Allow {
		return r.pattern.MatchEvery(c)
	}
	return r.pattern.Match(c)
}

var verbs = map[Behavior]string{Allow: "allows", Ask: "asks about", Deny: "denies"}

func (r *rule) ruling() ruling {
	v := ruling{Behavior: r.Behavior, Source: fromSpec, Rule: r.pattern.String(), Index: r.index, scope: r.Scope}
	v.Why = fmt.Sprintf("rule %d, %s, %s it", r.index, v.Rule, verbs[r.Behavior])
	if r.index < 0 {
		v.Source, v.Why = fromGrant, fmt.Sprintf("the granted rule %s %s it", v.Rule, verbs[r.Behavior])
	}
	if r.usedUp() {
		v.used, v.Why = r, v.Why+", once"
	}
	return v
}

func (p *policy) byDefault(c call) ruling {
	return ruling{
		Behavior: p.DefaultBehavior, Source: fromDefault, Index: -1,
		Why: "no rule matches it, and the default behaviour " + verbs[p.DefaultBehavior] + " calls of " + c.name,
	}
}

func answered(b Behavior, asked *rule, c call) ruling {
	v := ruling{Behavior: b, Source: fromAnswer, Index: -1}
	done := map[Behavior]string{Allow: "allowed", Deny: "denied"}[b]
	v.Why = "a person has " + done + " the same call of " + c.name
	if asked != nil {
		v.Rule, v.Index = asked.pattern.String(), asked.index
		v.Why = "a person has " + done + " what the rule " + v.Rule + " asks about"
	}
	return v
}
