package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pattern"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/strict"
)

// Section is the part of an agent's spec that has its rules.
var Section = plugin.Section[Config]{Name: "permission"}

// Config is the content of the section. The zero Config asks about every call.
type Config struct {
	DefaultBehavior Behavior `json:"default_behavior,omitempty" jsonschema:"of calls that no rule matches: allow, ask or deny; ask is the default"`
	OnDeny          OnDeny   `json:"on_deny,omitempty" jsonschema:"what a denied call does: block_run ends the run, fail_call gives the model an error result; block_run is the default"`
	Rules           []Rule   `json:"rules,omitempty" jsonschema:"deny beats allow, allow beats ask"`
}

// Rule decides the calls that its pattern matches.
type Rule struct {
	Tool     string   `json:"tool" jsonschema:"a pattern of tool calls, such as Bash(npm *)"` // see package pattern
	Behavior Behavior `json:"behavior" jsonschema:"allow, ask or deny"`
	// Scope is how long the rule holds; the package comment has the scopes of each kind of
	// rule. Without one it holds as long as the spec has it, and until the run ends if it
	// is granted.
	Scope core.Remember `json:"scope,omitempty" jsonschema:"how long it holds: once, run, thread or project; project is the default"`
}

// Behavior is what a rule does with a call.
type Behavior string

// The behaviours.
const (
	Allow Behavior = "allow" // it runs
	Ask   Behavior = "ask"   // it waits for a person
	Deny  Behavior = "deny"  // it does not run
)

// project is the scope of a rule of a spec that has no other.
const project core.Remember = "project"

// OnDeny is the effect of a denial. The zero OnDeny ends the run, as blocked; in a file it
// is block_run.
type OnDeny string

// FailCall lets a denied call fail, and the run continues.
const FailCall OnDeny = "fail_call"

const blockRun OnDeny = "block_run"

// decode reads a Config from JSON, strictly: an unknown member is an error that names it,
// and so is every error of [Config.Check]. Errors have code invalid.
func decode(data []byte) (Config, error) {
	var c Config
	if err := strict.Decode(data, &c); err != nil {
		return Config{}, core.Errorf(core.CodeInvalid, "permission: %w", err)
	}
	if err := c.Check(); err != nil {
		return Config{}, fmt.Errorf("permission: %w", err)
	}
	return c, nil
}

// Check returns an error with code invalid, or too_large, that names what of the section
// is wrong, and the rule that it is in.
func (c Config) Check() error {
	_, err := c.compile()
	return err
}

// policy is a Config that calls can be judged by. It never changes.
type policy struct {
	Config
	rules []rule
	once  bool // one of the rules is used up by a call
}

// rule is one that holds: of the spec, or granted.
type rule struct {
	Rule
	pattern pattern.Pattern // loose, but where the rule allows
	index   int             // in the spec; -1: it was granted
	id      string          // names it where it is noted that it is used up, and in the state
}

func (c Config) compile() (*policy, error) {
	if err := known("default_behavior", c.DefaultBehavior, "", Allow, Ask, Deny); err != nil {
		return nil, err
	}
	if err := known("on_deny", c.OnDeny, "", blockRun, FailCall); err != nil {
		return nil, err
	}
	if c.DefaultBehavior == "" {
		c.DefaultBehavior = Ask
	}
	p := &policy{Config: c, rules: make([]rule, len(c.Rules))}
	for i, r := range c.Rules {
		compiled, err := r.compile()
		if err == nil {
			err = r.checkScope(map[Behavior][]core.Remember{
				Allow: {"", project, core.RememberOnce},
				Ask:   {"", project, core.RememberOnce, core.RememberRun, core.RememberThread},
				Deny:  {"", project},
			})
		}
		if err != nil {
			return nil, fmt.Errorf("rules[%d]%w", i, err)
		}
		compiled.index = i
		compiled.id = digest("spec", string(r.Behavior), compiled.pattern.String())
		p.rules[i] = compiled
		p.once = p.once || compiled.usedUp()
	}
	return p, nil
}

// compile checks a rule, except its scope. Its errors start with the field.
func (r Rule) compile() (rule, error) {
	parsed, err := pattern.Parse(r.Tool)
	if err != nil {
		return rule{}, core.Errorf(core.CodeOf(err), ".tool: %w", err)
	}
	if err := known(".behavior", r.Behavior, Allow, Ask, Deny); err != nil {
		return rule{}, err
	}
	if r.Behavior != Allow {
		parsed = parsed.Loose(fold)
	}
	return rule{Rule: r, pattern: parsed, index: -1}, nil
}

// checkScope refuses a scope that means nothing of such a rule.
func (r Rule) checkScope(allowed map[Behavior][]core.Remember) error {
	if slices.Contains(allowed[r.Behavior], r.Scope) {
		return nil
	}
	if err := known(".scope", r.Scope, core.RememberOnce, core.RememberRun, core.RememberThread, project); err != nil {
		return err
	}
	var list []string
	for _, s := range allowed[r.Behavior] {
		if s != "" {
			list = append(list, string(s))
		}
	}
	return core.Errorf(core.CodeInvalid, ".scope %q is invalid for a rule with behavior %s here, allowed are %s", r.Scope, r.Behavior, strings.Join(list, ", "))
}

// usedUp reports whether the rule holds for one call only.
func (r *rule) usedUp() bool { return r.Behavior == Allow && r.Scope == core.RememberOnce }

// known refuses a value that is not among the allowed ones.
func known[T ~string](field string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	var list []string
	for _, a := range allowed {
		if a != "" {
			list = append(list, string(a))
		}
	}
	return core.Errorf(core.CodeInvalid, "%s is %q, allowed are %s", field, core.Excerpt(string(value)), strings.Join(list, ", "))
}
