package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pattern"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// The state keys: rules granted and answers given at run time, and the used-up rules of the
// spec. Members are named by digests of the parts in memberOf.
var (
	ofRun    = state.Map[entry]("permission.run", state.ScopeRun)
	ofThread = state.Map[entry]("permission.thread", state.ScopeThread)
	usedUp   = state.Map[bool]("permission.used", state.ScopeRun)
)

// entry is what is remembered of an agent: a rule that was granted, or an answer.
type entry struct {
	Agent    string   `json:"agent"`
	Behavior Behavior `json:"behavior"`
	Rule     string   `json:"rule,omitempty"`      // pattern of a rule that was granted
	Once     bool     `json:"once,omitempty"`      // of such a rule: it holds for one call
	Answers  string   `json:"answers,omitempty"`   // pattern of the rule that was answered
	Tool     string   `json:"tool,omitempty"`      // of the call that was answered
	Call     string   `json:"arguments,omitempty"` // digest of its arguments; empty: any for which no rule asks
}

// member is the name of the entry in the state. Its behaviour is part of it, so that
// allowing a denied call removes no deny.
func (e entry) member() string {
	return digest("entry", e.Agent, string(e.Behavior), e.Rule, fmt.Sprint(e.Once), e.Answers, e.Tool, e.Call)
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// memory is what the state has of one agent.
type memory struct {
	rules   []rule
	entries []map[string]entry // shared with the state, and of all agents
	used    map[string]bool    // rules that are used up, by id
}

// recall reads what is remembered of an agent. A pattern in it that does not parse any
// more is an error: it may be one that denies.
func recall(s state.Snapshot, agent string) (*memory, error) {
	m := &memory{}
	if usedUp.Has(s) {
		used, err := usedUp.Read(s)
		if err != nil {
			return nil, err
		}
		m.used = maps.Clone(used) // use adds to it
	}
	for _, key := range []state.MapKey[entry]{ofRun, ofThread} {
		if !key.Has(s) {
			continue
		}
		all, err := key.Read(s)
		if err != nil {
			return nil, err
		}
		m.entries = append(m.entries, all)
		for _, id := range slices.Sorted(maps.Keys(all)) {
			e := all[id]
			if e.Agent != agent || e.Rule == "" {
				continue
			}
			r := Rule{Tool: e.Rule, Behavior: e.Behavior}
			if e.Once {
				r.Scope = core.RememberOnce
			}
			compiled, err := r.compile()
			if err != nil {
				return nil, core.Errorf(core.CodeCorrupt, "granted rule%w", err)
			}
			compiled.id = id
			m.rules = append(m.rules, compiled)
		}
	}
	return m, nil
}

// once reports whether a rule is among what is remembered that one call uses up.
func (m *memory) once() bool {
	return slices.ContainsFunc(m.rules, func(r rule) bool { return r.usedUp() })
}

// use notes that a rule is used up.
func (m *memory) use(id string) {
	if m.used == nil {
		m.used = map[string]bool{}
	}
	m.used[id] = true
}

// has returns the behaviour of an answer to the question of e, deny before allow; empty: no
// answer.
func (m *memory) has(e entry) Behavior {
	for _, b := range []Behavior{Deny, Allow} {
		e.Behavior = b
		id := e.member()
		for _, all := range m.entries {
			if _, ok := all[id]; ok {
				return b
			}
		}
	}
	return ""
}

// answerTo is the answer to a call of the same tool with the same arguments.
func (m *memory) answerTo(c call) Behavior {
	if len(m.entries) == 0 {
		return ""
	}
	e, ok := callEntry(c)
	if !ok {
		return ""
	}
	return m.has(e)
}

// answerToRule is the answer to what a rule asks about; nil: the default asks.
func (m *memory) answerToRule(c call, asks *rule) Behavior {
	if len(m.entries) == 0 {
		return ""
	}
	return m.has(ruleEntry(c, asks.text()))
}

func (r *rule) text() string {
	if r == nil {
		return ""
	}
	return r.pattern.String()
}

// callEntry describes an answer to the very call. Arguments that can be read in two ways
// have none.
func callEntry(c call) (entry, bool) {
	arguments, ok := c.pattern.Canonical()
	return entry{Agent: c.agent, Tool: c.name, Call: digest("arguments", arguments)}, ok
}

// ruleEntry describes an answer to what a rule asks about, given its pattern; empty: what
// the default asks about of the tool.
func ruleEntry(c call, rule string) entry {
	if rule == "" {
		return entry{Agent: c.agent, Tool: c.name}
	}
	return entry{Agent: c.agent, Answers: rule}
}

// remember returns the command that keeps an answer to the question of a ruling. A rule
// whose scope is run or thread keeps an approval without a duration; a refusal must have
// one to be kept.
func remember(c call, asked ruling, b Behavior, said core.Decision) state.Command {
	scope, as := said.Remember, said.RememberAs
	if scope == "" && (asked.scope == core.RememberRun || asked.scope == core.RememberThread) {
		scope, as = asked.scope, core.RememberRule
	}
	e, ok := callEntry(c)
	if as == core.RememberRule {
		e, ok = ruleEntry(c, asked.Rule), asked.Behavior == Ask
	}
	if e.Behavior = b; !ok {
		return state.Command{}
	}
	switch scope {
	case core.RememberRun:
		return ofRun.Put(e.member(), e)
	case core.RememberThread:
		return ofThread.Put(e.member(), e)
	}
	return state.Command{}
}

// Grant returns a command that adds the rule at run time for an agent with this plugin,
// given the agent's id. A plugin or a tool returns it. With the scope run (or none) the
// rule holds until the run ends, with thread as long as the thread, and with once, for a
// rule that allows, for one call of the run. The same rule again changes nothing. A rule
// that denies outranks one that allows, in any order. If the rule is invalid, the command's
// Err is set.
func (r Rule) Grant(agent string) state.Command {
	compiled, err := r.compile()
	if err == nil {
		err = r.checkScope(map[Behavior][]core.Remember{
			Allow: {"", core.RememberOnce, core.RememberRun, core.RememberThread},
			Ask:   {"", core.RememberRun, core.RememberThread},
			Deny:  {"", core.RememberRun, core.RememberThread},
		})
	}
	if err == nil {
		err = core.CheckName(".agent", agent)
	}
	if err != nil {
		return state.Command{Err: fmt.Errorf("rule to grant: rule%w", err)}
	}
	e := entry{Agent: agent, Behavior: r.Behavior, Rule: compiled.pattern.String(), Once: r.Scope == core.RememberOnce}
	if r.Scope == core.RememberThread {
		return ofThread.Put(e.member(), e)
	}
	return ofRun.Put(e.member(), e)
}

// Forget returns a command that withdraws everything that was granted and remembered at run
// time, in the run and in the thread, for all its agents. A plugin or a tool returns it.
// The rules of the spec then judge each call again. It includes [plugin.ForgetApprovals].
func Forget() state.Command {
	return state.Combine(ofRun.Clear(), ofThread.Clear(), plugin.ForgetApprovals())
}

// use returns the command that notes what a call has used up.
func (v ruling) use() state.Command {
	switch {
	case v.used == nil:
		return state.Command{}
	case v.used.index < 0:
		return ofRun.Delete(v.used.id)
	}
	return usedUp.Put(v.used.id, true)
}

// prepared is a call as patterns look at it. The schema is that of the tool's parameters.
func prepared(agent string, c core.ToolCall, schema []byte) call {
	return call{pattern.NewCall(c.Name, c.Arguments, schema), agent, c.Name}
}
