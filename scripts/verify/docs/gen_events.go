package main

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// eventField is a field of core.Event.
type eventField struct {
	name, meaning string
	events        []string // empty: all
}

// eventTables lists the events of a run's stream, and their fields.
func eventTables(root string) (string, error) {
	file, err := sourceFile(root, "core/event.go")
	if err != nil {
		return "", err
	}
	types, err := constants(file, "EventType")
	if err != nil {
		return "", err
	}
	declared, err := structure(file, "Event")
	if err != nil {
		return "", err
	}
	fields, err := eventFields(declared, types)
	if err != nil {
		return "", err
	}
	var events, explained [][]string
	for _, t := range types {
		var of []string
		for _, f := range fields {
			if slices.Contains(f.events, t.value) {
				of = append(of, code(f.name, ""))
			}
		}
		meaning, placed := strings.CutSuffix(t.comment, " Placed.")
		id := "no"
		if placed {
			id = "yes"
		}
		events = append(events, []string{code(t.value, ""), id, strings.Join(of, ", "), quote(sentence(meaning))})
	}
	for _, f := range fields {
		if f.meaning != "" {
			explained = append(explained, []string{code(f.name, ""), quote(sentence(f.meaning))})
		}
	}
	return table([]string{"Event", "Id", "Fields", "Meaning"}, events) + "\n" + table([]string{"Field", "Meaning"}, explained), nil
}

// eventFields returns the fields on the wire. The comment after a field can begin with its
// events, such as "inference_retry, activity_*: calls that failed". A comment before a field
// replaces the meaning after it.
func eventFields(declared []*ast.Field, types []constant) (fields []eventField, err error) {
	for _, d := range declared {
		tag, err := strconv.Unquote(d.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "-" || name == "event_type" {
			continue
		}
		f := eventField{name: name, meaning: comment(d.Comment)}
		events, meaning, listed := strings.Cut(f.meaning, ": ")
		if doc := comment(d.Doc); doc != "" {
			meaning = strings.TrimPrefix(doc, d.Names[0].Name+" is ")
			listed = f.meaning != ""
		}
		if listed {
			f.meaning = meaning
			if f.events, err = eventsOf(events, types); err != nil {
				return nil, fmt.Errorf("core/event.go: field %s: %w", d.Names[0].Name, err)
			}
		} else if meaning != "" {
			f.meaning = meaning
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// eventsOf returns the types that a list of types and patterns names.
func eventsOf(list string, types []constant) (events []string, err error) {
	for pattern := range strings.SplitSeq(list, ", ") {
		prefix, many := strings.CutSuffix(pattern, "*")
		before := len(events)
		for _, t := range types {
			if t.value == pattern || many && strings.HasPrefix(t.value, prefix) {
				events = append(events, t.value)
			}
		}
		if len(events) == before {
			return nil, fmt.Errorf("there is no event %q", pattern)
		}
	}
	return events, nil
}
