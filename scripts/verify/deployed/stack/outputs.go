package stack

import (
	"fmt"
	"maps"
	"slices"
)

type output struct {
	Condition string
	Value     any
}

type assertions struct {
	Condition  any `json:"RuleCondition"`
	Assertions []struct {
		Assert      any
		Description string `json:"AssertDescription"`
	}
}

// Output returns the value of an output; empty: its condition does not hold.
func (s *Stack) Output(name string) (string, error) {
	o, ok := s.outputs[name]
	if !ok {
		return "", fmt.Errorf("stack: there is no output %s", name)
	}
	if o.Condition != "" {
		if there, err := s.holds(map[string]any{"Condition": o.Condition}); err != nil || !there {
			return "", err
		}
	}
	value, err := s.resolve(o.Value)
	if err != nil {
		return "", fmt.Errorf("stack: output %s: %w", name, err)
	}
	return fmt.Sprint(value), nil
}

// Refusals returns the descriptions of the assertions that the parameters violate, in the
// order of the names of their rules. CloudFormation refuses such parameters before it creates
// anything.
func (s *Stack) Refusals() (all []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		rule := s.rules[name]
		if rule.Condition != nil {
			applies, err := s.holds(rule.Condition)
			if err != nil {
				return nil, fmt.Errorf("stack: rule %s: %w", name, err)
			}
			if !applies {
				continue
			}
		}
		for _, a := range rule.Assertions {
			ok, err := s.holds(a.Assert)
			if err != nil {
				return nil, fmt.Errorf("stack: rule %s: %w", name, err)
			}
			if !ok {
				all = append(all, a.Description)
			}
		}
	}
	return all, nil
}
