package stack

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// absent is AWS::NoValue: a property with it is not there.
type absent struct{}

// resolve returns a value with its functions resolved.
func (s *Stack) resolve(value any) (any, error) {
	switch v := value.(type) {
	case []any:
		all := []any{}
		for _, item := range v {
			resolved, err := s.resolve(item)
			if err != nil {
				return nil, err
			}
			if _, ok := resolved.(absent); !ok {
				all = append(all, resolved)
			}
		}
		return all, nil
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if name == "Ref" || strings.HasPrefix(name, "Fn::") {
					return s.call(name, argument)
				}
			}
		}
		all := map[string]any{}
		for name, field := range v {
			resolved, err := s.resolve(field)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if _, ok := resolved.(absent); !ok {
				all[name] = resolved
			}
		}
		return all, nil
	}
	return value, nil
}

// call resolves one function.
func (s *Stack) call(name string, argument any) (any, error) {
	if name == "Ref" {
		return s.reference(fmt.Sprint(argument))
	}
	if name == "Fn::If" {
		three, ok := argument.([]any)
		if !ok || len(three) != 3 {
			return nil, fmt.Errorf("%s of %v", name, argument)
		}
		yes, err := s.holds(map[string]any{"Condition": three[0]})
		if err != nil {
			return nil, err
		}
		if yes {
			return s.resolve(three[1])
		}
		return s.resolve(three[2])
	}
	if text, ok := argument.(string); ok && name == "Fn::GetAtt" {
		id, attribute, _ := strings.Cut(text, ".")
		return s.attribute(id, attribute)
	}
	if text, ok := argument.(string); ok && name == "Fn::Sub" {
		return s.substitute(text, nil)
	}
	resolved, err := s.resolve(argument)
	if err != nil {
		return nil, err
	}
	arguments, _ := resolved.([]any)
	return s.apply(name, arguments)
}

// apply resolves a function of a list whose items are resolved.
func (s *Stack) apply(name string, arguments []any) (any, error) {
	wrong := fmt.Errorf("%s of %v", name, arguments)
	text := func(i int) string { return fmt.Sprint(arguments[i]) }
	switch {
	case name == "Fn::GetAtt" && len(arguments) == 2:
		return s.attribute(text(0), text(1))
	case name == "Fn::FindInMap" && len(arguments) == 3:
		value, ok := s.mappings[text(0)][text(1)][text(2)]
		if !ok {
			return nil, wrong
		}
		return value, nil
	case name == "Fn::Split" && len(arguments) == 2:
		all := []any{}
		for part := range strings.SplitSeq(text(1), text(0)) {
			all = append(all, part)
		}
		return all, nil
	case name == "Fn::Sub" && len(arguments) == 2:
		values, ok := arguments[1].(map[string]any)
		if !ok {
			return nil, wrong
		}
		return s.substitute(text(0), values)
	}
	if len(arguments) != 2 {
		return nil, wrong
	}
	items, ok := arguments[1].([]any)
	if !ok {
		return nil, wrong
	}
	switch name {
	case "Fn::Join":
		var parts []string
		for _, item := range items {
			parts = append(parts, fmt.Sprint(item))
		}
		return strings.Join(parts, text(0)), nil
	case "Fn::Select":
		if i, err := strconv.Atoi(text(0)); err == nil && i >= 0 && i < len(items) {
			return items[i], nil
		}
	}
	return nil, wrong
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

// substitute resolves Fn::Sub.
func (s *Stack) substitute(text string, values map[string]any) (any, error) {
	var first error
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		value, ok := values[name]
		if !ok {
			var err error
			if id, attribute, has := strings.Cut(name, "."); has {
				value, err = s.attribute(id, attribute)
			} else {
				value, err = s.reference(name)
			}
			if err != nil && first == nil {
				first = err
			}
		}
		return fmt.Sprint(value)
	})
	return out, first
}

// holds decides a condition.
func (s *Stack) holds(condition any) (bool, error) {
	v, ok := condition.(map[string]any)
	if !ok || len(v) != 1 {
		return false, fmt.Errorf("condition %v", condition)
	}
	for name, argument := range v {
		if name == "Condition" {
			named, ok := s.conditions[fmt.Sprint(argument)]
			if !ok {
				return false, fmt.Errorf("there is no condition %v", argument)
			}
			return s.holds(named)
		}
		parts, ok := argument.([]any)
		if !ok {
			return false, fmt.Errorf("%s of %v", name, argument)
		}
		return s.decide(name, parts)
	}
	return false, nil
}

func (s *Stack) decide(name string, parts []any) (bool, error) {
	switch name {
	case "Fn::Equals":
		values, err := s.resolve(parts)
		if err != nil {
			return false, err
		}
		both, ok := values.([]any)
		if !ok || len(both) != 2 {
			return false, fmt.Errorf("%s of %v", name, parts)
		}
		return fmt.Sprint(both[0]) == fmt.Sprint(both[1]), nil
	case "Fn::Not", "Fn::And", "Fn::Or":
		count := 0
		for _, part := range parts {
			yes, err := s.holds(part)
			if err != nil {
				return false, err
			}
			if yes {
				count++
			}
		}
		return name == "Fn::Not" && count == 0 || name == "Fn::And" && count == len(parts) || name == "Fn::Or" && count > 0, nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}
