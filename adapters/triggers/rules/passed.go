package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
)

// Passed is a pattern that AWS can check itself, so that it invokes the function only for
// events that a trigger of the source may accept. The function checks each event again.
type Passed struct {
	// Source is eventbridge, sqs or dynamodb.
	Source string
	// Pattern is the pattern in AWS's language, as JSON: for eventbridge the pattern of a rule
	// without the key source, else that of an event source mapping. nil: none is possible.
	Pattern json.RawMessage
	// Reason is why Pattern is nil.
	Reason string
}

// The most bytes of a pattern. A rule of EventBridge has 2,048 characters, with its sources.
const (
	mostRule    = 1500
	mostMapping = 4096
)

// PassedFilters returns what AWS can check for each source of triggers, in the order of their
// sources' names. It includes only sources that AWS can filter and that have a trigger. setting
// is as that of [New]. Errors are those of New about the form of the triggers.
//
// A pattern accepts an event exactly if the filter of one of the triggers does, apart from the
// key source of EventBridge, which the deployment selects, and from lists within lists, which
// AWS may accept. AWS gets no pattern for a source if one of its triggers has no filter, or one
// whose language differs there: only texts, prefix and suffix are the same.
func PassedFilters(setting string) ([]Passed, error) {
	triggers, err := readSetting(setting)
	if err != nil {
		return nil, err
	}
	var all []Passed
	for _, source := range []incoming.Source{incoming.DynamoDB, incoming.EventBridge, incoming.SQS} {
		var of []trigger
		for i, t := range triggers {
			if t.Source != source {
				continue
			}
			if _, err := compile(t); err != nil {
				return nil, core.Errorf(core.CodeInvalid, "triggers[%d] (%s): %w", i, core.Excerpt(t.Name), err)
			}
			of = append(of, t)
		}
		if len(of) > 0 {
			all = append(all, passed(source, of))
		}
	}
	return all, nil
}

// passed is the pattern of a source's triggers.
func passed(source incoming.Source, triggers []trigger) Passed {
	p := Passed{Source: string(source)}
	var either []json.RawMessage // the patterns, one of which must match
	for _, t := range triggers {
		fields, err := passedFilter(source, t)
		if err != nil {
			p.Reason = fmt.Sprintf("trigger %s: %v", t.Name, err)
			return p
		}
		encoded, err := core.EncodeJSON(fields)
		if err != nil {
			p.Reason = fmt.Sprintf("trigger %s: %v", t.Name, err)
			return p
		}
		if !slices.ContainsFunc(either, func(other json.RawMessage) bool { return bytes.Equal(other, encoded) }) {
			either = append(either, encoded)
		}
	}
	pattern := either[0]
	if len(either) > 1 {
		pattern, _ = core.EncodeJSON(map[string]any{"$or": either}) // encoded patterns always encode
	}
	most := mostMapping
	if source == incoming.EventBridge {
		most = mostRule
	}
	if len(pattern) > most {
		p.Reason = fmt.Sprintf("the pattern has %d bytes, AWS allows %d here", len(pattern), most)
		return p
	}
	p.Pattern = pattern
	return p
}

// passedFilter is a trigger's filter for AWS; an error if AWS would select other events.
func passedFilter(source incoming.Source, t trigger) (map[string]any, error) {
	if t.Filter == nil {
		return nil, fmt.Errorf("it has no filter, so it accepts every event")
	}
	d := json.NewDecoder(bytes.NewReader(t.Filter))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	switch source {
	case incoming.EventBridge:
		delete(fields, "source") // a parameter of the deployment selects the sources
		if len(fields) == 0 {
			return nil, fmt.Errorf("its filter has only source, which the parameter EventSources selects")
		}
	case incoming.SQS:
		if _, ok := fields["body"].(map[string]any); !ok || len(fields) != 1 {
			return nil, fmt.Errorf("its filter has something else than an object for body, which AWS would not see or would see in another form")
		}
	case incoming.DynamoDB:
		for name := range fields {
			if name != "eventName" && name != "dynamodb" {
				return nil, fmt.Errorf("its filter has %s, and AWS documents eventName and dynamodb", core.Excerpt(name))
			}
		}
	}
	return fields, same("filter", fields)
}

// same is an error unless AWS's language and ours agree about a pattern.
func same(path string, fields map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner := path + "." + name
		switch value := fields[name].(type) {
		case map[string]any:
			if err := same(inner, value); err != nil {
				return err
			}
		case []any:
			for _, item := range value {
				if err := sameTest(inner, item); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func sameTest(path string, item any) error {
	switch v := item.(type) {
	case string:
		return nil
	case map[string]any:
		for name, operand := range v {
			text, _ := operand.(string)
			if name != "prefix" && name != "suffix" {
				return fmt.Errorf("%s has %s, which AWS may decide in another way", path, name)
			}
			if text == "" {
				return fmt.Errorf("%s has an empty %s, which AWS refuses", path, name)
			}
		}
		return nil
	}
	return fmt.Errorf("%s has %s, and AWS compares how such values are written", path, strings.TrimSpace(fmt.Sprint(item)))
}
