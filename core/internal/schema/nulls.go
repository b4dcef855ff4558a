package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// DropNulls returns the JSON of a value without those members that are null, that the
// schema names as optional, and that may not be null by it. A provider that enforces a
// schema knows no optional properties: its models write null for an omitted member. The
// rest keeps its order and its numbers as they are written. A text that is not JSON, and
// one whose check would take too long, is returned unchanged.
func (s *Schema) DropNulls(text json.RawMessage) json.RawMessage {
	var value any
	if !bytes.Contains(text, []byte("null")) || json.Unmarshal(text, &value) != nil || s.measure(value) != nil {
		return text
	}
	d := dropping{places: s.places}
	if d.walk([]*place{s.places[s.root]}, value); !d.dropped {
		return text
	}
	r := rewriting{text: text, tokens: json.NewDecoder(bytes.NewReader(text))}
	r.value(value)
	return r.kept.Bytes()
}

// dropping deletes members of a value. [Schema.measure] has bounded what that costs: it
// goes the same ways.
type dropping struct {
	places  map[*jsonschema.Schema]*place
	dropped bool
}

// walk looks at a value and all within it; applied are the schemas that apply to it.
func (d *dropping) walk(applied []*place, value any) {
	var all []*place
	for _, p := range applied {
		all = d.unroll(all, p, value)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			inner, optional := d.member(all, name)
			if member == nil && optional && !slices.ContainsFunc(inner, d.takesNull) {
				delete(v, name)
				d.dropped = true
			} else if len(inner) > 0 {
				d.walk(inner, member)
			}
		}
	case []any:
		for i, item := range v {
			if inner := d.item(all, i); len(inner) > 0 {
				d.walk(inner, item)
			}
		}
	}
}

// unroll appends the schemas that apply to a value when p does: of alternatives those that
// the value may be.
func (d *dropping) unroll(all []*place, p *place, value any) []*place {
	all = append(all, p)
	for _, to := range p.refers {
		all = d.unroll(all, to, value)
	}
	for _, one := range p.schema.AllOf {
		all = d.unroll(all, d.places[one], value)
	}
	for _, some := range [][]*jsonschema.Schema{p.schema.AnyOf, p.schema.OneOf} {
		for _, one := range some {
			if d.may(d.places[one], value) {
				all = d.unroll(all, d.places[one], value)
			}
		}
	}
	return all
}

// member returns the schemas of a member, and whether one names it as optional.
func (d *dropping) member(all []*place, name string) (inner []*place, optional bool) {
	for _, p := range all {
		if own := p.schema.Properties[name]; own != nil {
			inner = append(inner, d.places[own])
			optional = optional || !slices.Contains(p.schema.Required, name)
		} else if rest := p.schema.AdditionalProperties; rest != nil && len(p.schema.PatternProperties) == 0 {
			inner = append(inner, d.places[rest])
		}
	}
	return inner, optional
}

// item returns the schemas of an item of a list.
func (d *dropping) item(all []*place, i int) (inner []*place) {
	for _, p := range all {
		one := p.schema.Items
		if i < len(p.schema.PrefixItems) {
			one = p.schema.PrefixItems[i]
		}
		if one != nil {
			inner = append(inner, d.places[one])
		}
	}
	return inner
}

// may reports whether a value can be of an alternative, by its type, the members that it
// must have, and those of which it says the values.
func (d *dropping) may(p *place, value any) bool {
	s := p.schema
	if want := types(s); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return is(value, t) }) {
		return false
	}
	if object, ok := value.(map[string]any); ok {
		for _, name := range s.Required {
			if _, there := object[name]; !there {
				return false
			}
		}
		for name, property := range s.Properties {
			if v, there := object[name]; there && v != nil && !listed(property, v) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(p.refers, func(to *place) bool { return !d.may(to, value) }) &&
		!slices.ContainsFunc(s.AllOf, func(one *jsonschema.Schema) bool { return !d.may(d.places[one], value) })
}

// listed reports whether a value is one of those that the schema lists, if it does.
func listed(s *jsonschema.Schema, value any) bool {
	same := func(one any) bool { return reflect.DeepEqual(one, value) }
	return (s.Const == nil || same(*s.Const)) && (s.Enum == nil || slices.ContainsFunc(s.Enum, same))
}

// takesNull reports whether null may be of a schema.
func (d *dropping) takesNull(p *place) bool {
	s := p.schema
	some := func(of []*jsonschema.Schema) bool {
		return len(of) == 0 || slices.ContainsFunc(of, func(one *jsonschema.Schema) bool { return d.takesNull(d.places[one]) })
	}
	if want := types(s); len(want) > 0 && !slices.Contains(want, "null") || !listed(s, nil) || refusesAll(s) {
		return false
	}
	return !slices.ContainsFunc(p.refers, func(to *place) bool { return !d.takesNull(to) }) &&
		!slices.ContainsFunc(s.AllOf, func(one *jsonschema.Schema) bool { return !d.takesNull(d.places[one]) }) &&
		some(s.AnyOf) && some(s.OneOf)
}

// rewriting writes what is left of a value.
type rewriting struct {
	text   []byte
	tokens *json.Decoder
	kept   bytes.Buffer
}

// token returns the next one, and its text.
func (r *rewriting) token() (json.Token, []byte) {
	from := r.tokens.InputOffset()
	t, _ := r.tokens.Token() // the text was decoded before
	return t, bytes.TrimLeft(r.text[from:r.tokens.InputOffset()], " \t\r\n,:")
}

// value copies the next value, of which left is what is left.
func (r *rewriting) value(left any) {
	t, text := r.token()
	r.kept.Write(text)
	switch t {
	case json.Delim('{'):
		members, _ := left.(map[string]any)
		for first := true; r.tokens.More(); {
			key, name := r.token()
			member, there := members[key.(string)]
			if !there {
				var dropped json.RawMessage
				_ = r.tokens.Decode(&dropped)
				continue
			}
			r.comma(&first)
			r.kept.Write(name)
			r.kept.WriteByte(':')
			r.value(member)
		}
	case json.Delim('['):
		items, _ := left.([]any)
		for i, first := 0, true; r.tokens.More(); i++ {
			r.comma(&first)
			var item any
			if i < len(items) {
				item = items[i]
			}
			r.value(item)
		}
	default:
		return
	}
	_, text = r.token()
	r.kept.Write(text)
}

func (r *rewriting) comma(first *bool) {
	if !*first {
		r.kept.WriteByte(',')
	}
	*first = false
}
