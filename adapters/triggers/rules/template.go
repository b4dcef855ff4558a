package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/reveille-run/reveille/core"
)

const (
	// maxPrompt is the most bytes that a prompt may have when it is made of an event.
	maxPrompt = 64 << 10
	// maxTemplate is the most bytes that a template may have.
	maxTemplate = 16 << 10
	// maxDepth is how deep lists and objects of an event may nest.
	maxDepth = 64
)

// text is a template that makes a text of an event.
type text struct {
	name     string
	template *template.Template
}

func parseText(name, source string) (*text, error) {
	if len(source) > maxTemplate {
		return nil, fmt.Errorf("has %d bytes, at most %d are allowed", len(source), maxTemplate)
	}
	t, err := template.New(name).Option("missingkey=error").Funcs((&budget{}).functions()).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("is not a valid template: %w", err)
	}
	if err := count(t); err != nil {
		return nil, fmt.Errorf("is not a valid template: %w", err)
	}
	return &text{name, t}, nil
}

// errLong ends a template that writes too much.
var errLong = errors.New("the text is too long")

// render makes the text of an event's data, at most limit bytes, within [maxSteps] and
// [maxMade].
func (t *text) render(data object, limit int) (string, error) {
	b := &budget{steps: maxSteps, bytes: maxMade, weight: 1 + longest(data)/16384}
	counted, err := t.template.Clone() // the functions count for this event alone
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.name, err)
	}
	counted.Funcs(b.functions())
	counted.Funcs(template.FuncMap{stepName: b.step, rangedName: b.ranged})
	var out strings.Builder
	err = counted.Execute(&limited{&out, limit}, data)
	switch {
	case b.over != nil:
		return "", core.Errorf(core.CodeTooLarge, "%s: %w", t.name, b.over)
	case errors.Is(err, errLong):
		return "", core.Errorf(core.CodeInvalid, "%s has more than %d bytes", t.name, limit)
	case err != nil:
		return "", core.Errorf(core.CodeInvalid, "%s: %w", t.name, err)
	}
	return out.String(), nil
}

// limited takes so many bytes.
type limited struct {
	io.Writer
	left int
}

// Write implements io.Writer.
func (w *limited) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errLong
	}
	return w.Writer.Write(p)
}

// object and list are an event's values as templates see them: printed, they are
// JSON again, and not what package fmt makes of a map.
type (
	object map[string]any
	list   []any
)

// Format implements fmt.Formatter. A method String would be one that templates can call,
// as often as they like.
func (o object) Format(f fmt.State, _ rune) { printed(f, o) }

// Format implements fmt.Formatter.
func (l list) Format(f fmt.State, _ rune) { printed(f, l) }

func printed(f fmt.State, v any) {
	s, _ := asJSON(v) // of decoded JSON: it encodes again
	_, _ = io.WriteString(f, s)
}

// asJSON is the function json of templates.
func asJSON(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// asName is the function name of templates: the value if a thread's id may contain it,
// else the valid part of it, made unique by its hash.
func asName(v any) string {
	s := fmt.Sprint(v)
	if core.CheckName("name", s) == nil {
		return s
	}
	clean := strings.Map(func(c rune) rune {
		if core.CheckName("name", string(c)) != nil && c != '.' {
			return '-'
		}
		return c
	}, s)
	sum := sha256.Sum256([]byte(s))
	return clean[:min(len(clean), 64)] + "-" + hex.EncodeToString(sum[:8])
}

// decodeEvent reads an event's data. Numbers keep the text that they have.
func decodeEvent(data json.RawMessage) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "the event is not JSON: %w", err)
	}
	converted, err := convert(value, 1)
	if err != nil {
		return nil, err
	}
	o, ok := converted.(object)
	if !ok {
		return nil, core.Errorf(core.CodeInvalid, "the event is not a JSON object")
	}
	return o, nil
}

func convert(value any, depth int) (_ any, err error) {
	if depth > maxDepth+1 {
		return nil, core.Errorf(core.CodeInvalid, "the event is nested more than %d deep", maxDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key], err = convert(field, depth+1); err != nil {
				return nil, err
			}
		}
		return object(v), nil
	case []any:
		for i, item := range v {
			if v[i], err = convert(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list(v), nil
	}
	return value, nil
}

// withoutNulls is an object as templates see it: null counts as absent, since
// text/template would print "<no value>".
func withoutNulls(o object) object {
	return prune(o).(object)
}

func prune(value any) any {
	switch v := value.(type) {
	case object:
		pruned := make(object, len(v))
		for key, field := range v {
			if field != nil {
				pruned[key] = prune(field)
			}
		}
		return pruned
	case list:
		pruned := make(list, len(v))
		for i, item := range v {
			pruned[i] = prune(item)
		}
		return pruned
	}
	return value
}
