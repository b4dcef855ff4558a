package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// The budget of one template for one event. A loop may write nothing, and the event of a
// stranger determines its iterations: a limit of the text alone does not bound the time.
const (
	// maxSteps is about how many parts of the template are run, each as often as it is
	// reached. A part is about eight bytes of the template.
	maxSteps = 1_000_000
	// maxMade is the most bytes of text that functions may make, written or not.
	maxMade = 4 << 20
)

var (
	errSteps = fmt.Errorf("the template takes more than %d steps for this event", maxSteps)
	errMade  = fmt.Errorf("the template makes more than %d bytes of text for this event", maxMade)
)

// budget is what is left while a template is executed.
type budget struct {
	steps  int
	bytes  int
	weight int   // of a step: a part may compare the longest texts of the event
	over   error // which bound was passed
}

// step is called at the start of each part of the template; n is the length of the part.
func (b *budget) step(n int) (string, error) {
	if b.steps -= n * b.weight; b.steps < 0 && b.over == nil {
		b.over = errSteps
	}
	return "", b.over
}

// made counts text before or after it is made.
func (b *budget) made(n int) error {
	if b.bytes -= n; b.bytes < 0 && b.over == nil {
		b.over = errMade
	}
	return b.over
}

// functions are the functions of templates that make text. They replace the built-in
// ones, whose output is not limited.
func (b *budget) functions() template.FuncMap {
	escaped := func(escape func(...any) string) func(...any) (string, error) {
		return func(values ...any) (string, error) {
			values, size, err := b.plain(values)
			if err == nil {
				err = b.made(6 * size) // the most that a character becomes
			}
			if err != nil {
				return "", err
			}
			return escape(values...), nil
		}
	}
	return template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := asJSON(v)
			return text, errors.Join(err, b.made(len(text)))
		},
		"name": func(v any) (string, error) {
			values, size, err := b.plain([]any{v})
			if err := errors.Join(err, b.made(size)); err != nil {
				return "", err
			}
			return asName(values[0]), nil
		},
		"print":    escaped(fmt.Sprint),
		"println":  escaped(fmt.Sprintln),
		"html":     escaped(template.HTMLEscaper),
		"js":       escaped(template.JSEscaper),
		"urlquery": escaped(template.URLQueryEscaper),
		"printf":   b.printf,
	}
}

// printf is fmt.Sprintf for formats whose widths have three digits at most. A verb may
// print any of the values, so that all count as the longest.
func (b *budget) printf(format string, values ...any) (string, error) {
	values, _, err := b.plain(values)
	if err != nil {
		return "", err
	}
	most := 0
	for _, v := range values {
		if text, ok := v.(string); ok {
			most = max(most, len(text))
		}
	}
	digits := 0
	for _, c := range format {
		switch {
		case c == '*':
			return "", errors.New("printf: a width of * is not allowed")
		case c < '0' || c > '9':
			digits = 0
		default:
			if digits++; digits > 3 {
				return "", errors.New("printf: numbers in the format have at most 3 digits")
			}
		}
	}
	if err := b.made(len(format) + strings.Count(format, "%")*(999+6*most)); err != nil {
		return "", err
	}
	return fmt.Sprintf(format, values...), nil
}

// plain are the values with lists and objects as their JSON, and how long all are.
func (b *budget) plain(values []any) (plain []any, size int, err error) {
	plain = make([]any, len(values))
	for i, v := range values {
		switch made := v.(type) {
		case object, list:
			text, err := asJSON(made)
			if err := errors.Join(err, b.made(len(text))); err != nil {
				return nil, 0, err
			}
			v = text
		case fmt.Stringer: // a number of JSON
			v = made.String()
		}
		if text, ok := v.(string); ok {
			size += len(text)
		}
		plain[i], size = v, size+32
	}
	return plain, size, nil
}

// stepName is the function that counts. Templates are parsed before there is one of this
// name, so that none can call it.
const stepName = "step"

// count puts a call of the counting function where each part of a template begins: its
// own, that of each template in it, and the bodies of its loops and conditions.
//
// A template that calls itself is refused: each call takes a frame of the stack, and the
// package allows 100,000.
func count(t *template.Template) error {
	calls := map[string][]string{}
	for _, one := range t.Templates() {
		if one.Tree == nil || one.Tree.Root == nil {
			continue
		}
		called, err := countList(one.Tree.Root)
		if err != nil {
			return err
		}
		calls[one.Name()] = called
	}
	over := map[string]bool{} // true: it calls itself by no way
	var follow func(name string) error
	follow = func(name string) error {
		if done, begun := over[name]; begun && !done {
			return fmt.Errorf("template %q calls itself", name)
		} else if done {
			return nil
		}
		over[name] = false
		for _, called := range calls[name] {
			if err := follow(called); err != nil {
				return err
			}
		}
		over[name] = true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if err := follow(name); err != nil {
			return err
		}
	}
	return nil
}

// rangedName is the function that what a loop goes over is passed through, see [budget.ranged].
const rangedName = "ranged"

// ranged counts an object before a loop goes over it: its names are sorted first, however
// soon the loop ends.
func (b *budget) ranged(value any) (any, error) {
	if o, ok := value.(object); ok {
		_, err := b.step(4 * len(o))
		return value, err
	}
	return value, b.over
}

// weigh passes what a loop goes over through [budget.ranged].
func weigh(loop *parse.RangeNode) error {
	call, err := parse.Parse("count", "{{0 | "+rangedName+"}}", "", "", map[string]any{rangedName: (&budget{}).ranged})
	if err != nil {
		return err
	}
	loop.Pipe.Cmds = append(loop.Pipe.Cmds, call["count"].Root.Nodes[0].(*parse.ActionNode).Pipe.Cmds[1])
	return nil
}

// countList counts a list and those in it. It returns the names of the templates that
// they call.
func countList(list *parse.ListNode) (calls []string, err error) {
	if list == nil {
		return nil, nil
	}
	for _, node := range list.Nodes {
		var branch *parse.BranchNode
		switch n := node.(type) {
		case *parse.IfNode:
			branch = &n.BranchNode
		case *parse.RangeNode:
			branch = &n.BranchNode
			if err := weigh(n); err != nil {
				return nil, err
			}
		case *parse.WithNode:
			branch = &n.BranchNode
		case *parse.TemplateNode:
			calls = append(calls, n.Name)
			continue
		default:
			continue
		}
		for _, body := range []*parse.ListNode{branch.List, branch.ElseList} {
			called, err := countList(body)
			if err != nil {
				return nil, err
			}
			calls = append(calls, called...)
		}
	}
	call, err := parse.Parse("count", fmt.Sprintf("{{%s %d}}", stepName, 1+len(strings.ReplaceAll(list.String(), " | "+rangedName, ""))/8), "", "", map[string]any{stepName: (&budget{}).step})
	if err != nil {
		return nil, err
	}
	list.Nodes = append([]parse.Node{call["count"].Root.Nodes[0]}, list.Nodes...)
	return calls, nil
}

// longest is how many bytes the longest text of an event has.
func longest(value any) (most int) {
	switch v := value.(type) {
	case string:
		return len(v)
	case object:
		for _, field := range v {
			most = max(most, longest(field))
		}
	case list:
		for _, item := range v {
			most = max(most, longest(item))
		}
	}
	return most
}
