package stack

import (
	"encoding/json"
	"fmt"
	"strings"
)

// child returns a nested stack that is a resource of this one, or nil if its template is not
// among the options.
func (s *Stack) child(id string) (*Stack, error) {
	text, ok := s.options.Nested[fmt.Sprint(s.resources[id].Properties["TemplateURL"])]
	if !ok {
		return nil, nil
	}
	given, err := s.resolve(s.resources[id].Properties["Parameters"])
	if err != nil {
		return nil, fmt.Errorf("stack: %s: %w", id, err)
	}
	o := Options{Name: s.options.Name + "-" + id, Parameters: map[string]string{}, QueueURL: s.options.QueueURL}
	parameters, _ := given.(map[string]any)
	for name, value := range parameters {
		o.Parameters[name] = fmt.Sprint(value)
	}
	child, err := Read(text, o)
	if err != nil {
		return nil, fmt.Errorf("stack: %s: %w", id, err)
	}
	return child, nil
}

// ofNested adds the resources of nested stacks, with ids such as Own.Orders.
func (s *Stack) ofNested(kind string, all map[string]json.RawMessage) error {
	for id, r := range s.resources {
		if r.Type != nested {
			continue
		}
		child, err := s.child(id)
		if err != nil {
			return err
		}
		if child == nil {
			continue
		}
		of, err := child.Of(kind)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		for inner, properties := range of {
			all[id+"."+inner] = properties
		}
	}
	return nil
}

const nested = "AWS::CloudFormation::Stack"

// inNested is Name of a resource of a nested stack.
func (s *Stack) inNested(id string) (string, error) {
	outer, inner, _ := strings.Cut(id, ".")
	child, err := s.child(outer)
	if err != nil {
		return "", err
	}
	if child == nil {
		return "", fmt.Errorf("stack: there is no resource %s", id)
	}
	return child.Name(inner)
}
