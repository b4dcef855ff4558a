package schema

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// The bounds of one check: of a schema against a value.
const (
	// MaxSteps bounds the time: about one step for each schema that is applied to each
	// value within the value, one more for each 128 bytes that a pattern or an error of an
	// alternative has to read. Where all items have to differ, each two that look alike are
	// one more.
	MaxSteps = 1_000_000
	// MaxNested is how many schemas may be open within each other.
	MaxNested = 500
	// MaxErrors bounds, in bytes, the texts of all errors that a check may hold at a time:
	// each alternative that does not match has one, which quotes the value.
	MaxErrors = 64 << 20
)

// measure counts what a check of the value costs when no part of it ends early, and
// refuses what is beyond a bound. The count itself ends there, too.
func (s *Schema) measure(value any) error {
	m := measuring{places: s.places}
	m.apply(s.places[s.root], value, 1)
	return m.err
}

type measuring struct {
	places map[*jsonschema.Schema]*place
	sizes  map[uintptr]int // of lists and objects, by their address
	steps  int
	err    error
}

// cost is the maximum size of the errors of one application, in bytes.
type cost struct {
	text int // the error that it returns
	kept int // all errors that are held when it returns: each wraps the one before
}

// or is the cost when one of two errors is returned, and the other was dropped before.
func (c cost) or(o cost) cost { return cost{max(c.text, o.text), max(c.kept, o.kept)} }

// add counts steps.
func (m *measuring) add(n int) {
	if m.steps += n; m.steps > MaxSteps && m.err == nil {
		m.err = tooComplex("checking the value takes more than %d steps", MaxSteps)
	}
}

// apply counts one schema over one value.
func (m *measuring) apply(p *place, value any, depth int) (c cost) {
	if m.add(p.steps + items(value)/8); m.err == nil && depth > MaxNested {
		m.err = tooComplex("checking the value nests more than %d schemas", MaxNested)
	}
	if m.err != nil {
		return c
	}
	if text, ok := value.(string); ok {
		m.text(p, text)
	}
	for _, to := range p.refers {
		c = c.or(m.apply(to, value, depth+1))
	}
	c = c.or(m.combined(p.schema, value, depth+1))
	switch v := value.(type) {
	case []any:
		c = c.or(m.list(p.schema, v, depth+1))
	case map[string]any:
		c = c.or(m.object(p, v, depth+1))
	}
	c.text = max(c.text, m.size(value)) + p.text
	if c.kept += 2 * c.text; c.kept > MaxErrors && m.err == nil {
		m.err = tooComplex("checking the value may hold more than %d bytes of errors", MaxErrors)
	}
	return c
}

// combined counts the parts of a schema that apply to the same value.
func (m *measuring) combined(s *jsonschema.Schema, value any, depth int) (c cost) {
	for _, one := range s.AllOf {
		c = c.or(m.apply(m.places[one], value, depth))
	}
	all := cost{} // of the alternatives: they are held until the last has failed
	for _, one := range s.AnyOf {
		failed := m.attempt(one, value, depth)
		all = cost{all.text + failed.text, all.kept + failed.kept}
	}
	c = c.or(all)
	for _, one := range s.OneOf {
		m.attempt(one, value, depth)
	}
	for _, one := range []*jsonschema.Schema{s.Not, s.If} {
		if one != nil {
			m.attempt(one, value, depth)
		}
	}
	for _, one := range []*jsonschema.Schema{s.Then, s.Else} {
		if one != nil {
			c = c.or(m.apply(m.places[one], value, depth))
		}
	}
	for _, named := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, one := range named {
			c = c.or(m.apply(m.places[one], value, depth))
		}
	}
	return c
}

// attempt counts a schema after whose failure the check continues: writing the error takes
// time.
func (m *measuring) attempt(s *jsonschema.Schema, value any, depth int) cost {
	c := m.apply(m.places[s], value, depth)
	m.add(c.kept / 128)
	return c
}

// text counts what reads a text: a pattern, and the keywords that count its characters.
func (m *measuring) text(p *place, text string) {
	switch {
	case p.schema.Pattern != "":
		m.add(len(text) * p.program / 128)
	case p.schema.MinLength != nil || p.schema.MaxLength != nil:
		m.add(len(text) / 512)
	}
}

func (m *measuring) list(s *jsonschema.Schema, list []any, depth int) (c cost) {
	if s.UniqueItems {
		m.unique(list)
	}
	for i, item := range list {
		if m.err != nil {
			return c
		}
		if s.Contains != nil {
			c = c.or(m.attempt(s.Contains, item, depth))
		}
		one := s.Items
		if i < len(s.PrefixItems) {
			c = c.or(m.apply(m.places[s.PrefixItems[i]], item, depth))
			one = nil
		}
		if i < len(s.ItemsArray) {
			c = c.or(m.apply(m.places[s.ItemsArray[i]], item, depth))
		}
		for _, rest := range []*jsonschema.Schema{one, s.AdditionalItems, s.UnevaluatedItems} {
			if rest != nil {
				c = c.or(m.apply(m.places[rest], item, depth))
			}
		}
	}
	return c
}

func (m *measuring) object(p *place, object map[string]any, depth int) (c cost) {
	s := p.schema
	for name, value := range object {
		if m.err != nil {
			return c
		}
		own := s.Properties[name]
		rest := s.AdditionalProperties
		if own != nil {
			rest = nil
		}
		for _, one := range []*jsonschema.Schema{own, rest, s.UnevaluatedProperties} {
			if one != nil {
				c = c.or(m.apply(m.places[one], value, depth))
			}
		}
		if len(s.PatternProperties) > 0 {
			m.add(len(name) * p.program / 128)
		}
		for _, one := range s.PatternProperties {
			c = c.or(m.apply(m.places[one], value, depth))
		}
		if s.PropertyNames != nil {
			c = c.or(m.apply(m.places[s.PropertyNames], name, depth))
		}
	}
	return c
}

// size is about the length of the value when it is written out. Lists and objects are
// counted once, since many schemas may be applied to each.
func (m *measuring) size(value any) int {
	size := 24
	switch v := value.(type) {
	case string:
		return len(v)
	case []any:
		if known, ok := m.sizes[address(value)]; ok || len(v) == 0 {
			return max(known, size)
		}
		for _, item := range v {
			size += 2 + m.size(item)
		}
		m.remember(address(value), size)
	case map[string]any:
		if known, ok := m.sizes[address(value)]; ok || len(v) == 0 {
			return max(known, size)
		}
		nested := len(v) > 16
		for name, item := range v {
			size += len(name) + 2 + m.size(item)
			nested = nested || items(item) > 0
		}
		if nested { // else it is counted as fast as it is found, as most arguments are
			m.remember(address(value), size)
		}
	}
	return size
}

// address is that of a list or an object.
func address(value any) uintptr { return reflect.ValueOf(value).Pointer() }

func (m *measuring) remember(at uintptr, size int) {
	if m.sizes == nil {
		m.sizes = map[uintptr]int{}
	}
	m.sizes[at] = size
}

// items is how many a list or an object has.
func items(value any) int {
	switch v := value.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}
