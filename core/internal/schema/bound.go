package schema

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// The bounds of a schema. A check of one value has its own, see [MaxSteps].
const (
	MaxText     = 256 << 10 // bytes of its JSON
	MaxDepth    = 64        // objects and lists within each other, in its JSON
	MaxUnrolled = 4096      // schemas that apply to one value, references and combinations followed
	MaxReferred = 100_000   // schemas that its references may lead to, each as often as one does
	MaxPaths    = 4 << 20   // bytes of the places of all its schemas, such as /properties/city
	MaxPattern  = 4 << 10   // bytes of a pattern
	MaxPatterns = 100_000   // instructions of all its patterns together
)

// ErrTooComplex is returned for a schema, and for a check, beyond a bound, which the
// error's text names.
var ErrTooComplex = core.Errorf(core.CodeTooLarge, "JSON Schema is too complex")

func tooComplex(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrTooComplex, fmt.Sprintf(format, arguments...))
}

// checkText bounds what decoding a schema costs.
func checkText(text json.RawMessage) error {
	if len(text) > MaxText {
		return tooComplex("it has %d bytes, at most %d are allowed", len(text), MaxText)
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return tooComplex("its JSON is nested more than %d deep", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// place is one schema within a schema, and what looking at a value there costs.
type place struct {
	path     string // JSON Pointer from the root
	refers   []*place
	schema   *jsonschema.Schema
	steps    int // of any value
	program  int // instructions of its pattern
	text     int // bytes of an error other than those of the value
	unrolled int // 0: not counted, -1: being counted
	base     *base
}

// base is a schema that references are relative to: the root, and each that has an id.
type base struct {
	path string
	uri  *url.URL
}

// bounding walks over all schemas of one.
type bounding struct {
	places     map[*jsonschema.Schema]*place
	paths      map[string]*place
	anchors    map[string][]*place
	bases      map[string]*base // by their URI
	draft7     bool
	bytes      int // of all paths
	referred   int
	programs   int
	referrings []*place
}

// bound looks at all the schemas of one, and refuses it when it costs too much.
func bound(root *jsonschema.Schema) (map[*jsonschema.Schema]*place, error) {
	outer := &base{uri: &url.URL{}}
	b := &bounding{
		places: map[*jsonschema.Schema]*place{}, paths: map[string]*place{}, anchors: map[string][]*place{},
		bases: map[string]*base{"": outer}, draft7: strings.Contains(root.Schema, "draft-07"),
	}
	if err := b.walk(root, "", outer); err != nil {
		return nil, err
	}
	for _, p := range b.referrings {
		for _, ref := range []string{p.schema.Ref, p.schema.DynamicRef} {
			if err := b.refer(p, ref); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range b.places {
		if err := b.unroll(p); err != nil {
			return nil, err
		}
	}
	return b.places, nil
}

func (b *bounding) walk(s *jsonschema.Schema, path string, within *base) error {
	if s == nil {
		return fmt.Errorf("schema at %q is missing", core.Excerpt(path))
	}
	if b.places[s] != nil {
		return fmt.Errorf("schema at %q is part of another one, too", core.Excerpt(path))
	}
	p := &place{path: path, schema: s, base: within}
	b.places[s], b.paths[path] = p, p
	if b.bytes += len(path) + len(s.ID); b.bytes > MaxPaths {
		return tooComplex("the places of its schemas have more than %d bytes together", MaxPaths)
	}
	if err := b.identify(p); err != nil {
		return err
	}
	for _, anchor := range []string{s.Anchor, s.DynamicAnchor, strings.TrimPrefix(s.ID, "#")} {
		if anchor != "" {
			b.anchors[anchor] = append(b.anchors[anchor], p)
		}
	}
	if s.Ref != "" || s.DynamicRef != "" {
		b.referrings = append(b.referrings, p)
	}
	if err := b.weigh(p); err != nil {
		return err
	}
	for name, part := range parts(s) {
		if err := b.walk(part, path+name, p.base); err != nil {
			return err
		}
	}
	return nil
}

// identify makes a schema with an id the base of the references in it.
func (b *bounding) identify(p *place) error {
	if p.schema.ID == "" || b.draft7 && p.schema.Ref != "" { // which has no other keyword there
		return nil
	}
	id, err := url.Parse(p.schema.ID)
	if err != nil {
		return fmt.Errorf("$id %q: %w", core.Excerpt(p.schema.ID), err)
	}
	if id.Fragment == "" { // else it is an anchor
		p.base = &base{p.path, p.base.uri.ResolveReference(id)}
		name := p.base.uri.String()
		if b.bases[name] != nil {
			return fmt.Errorf("$id %q is given twice", core.Excerpt(p.schema.ID))
		}
		b.bases[name] = p.base
	}
	return nil
}

// weigh finds what a look at a value costs by the keywords of the schema alone.
func (b *bounding) weigh(p *place) error {
	s := p.schema
	p.steps = 1 + (len(s.Properties)+len(s.PatternProperties)+len(s.Required)+len(s.DependentRequired)+len(s.DependencyStrings))/8
	p.text = 128 + len(p.path) + len(s.ID)
	for _, name := range s.Required {
		p.text += len(name) + 4
	}
	for _, names := range s.DependentRequired {
		p.steps += len(names)
	}
	for _, names := range s.DependencyStrings {
		p.steps += len(names)
	}
	fixed := s.Enum
	if s.Const != nil {
		fixed = append(fixed[:len(fixed):len(fixed)], *s.Const)
	}
	size := len(fmt.Sprint(fixed))
	p.text, p.steps = p.text+size, p.steps+len(fixed)/16+size/64
	if s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil {
		p.text += 2000 // numbers are written out
	}
	for _, some := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		for _, one := range some {
			p.text += 24 + len(one.String())
		}
	}
	patterns := make([]string, 0, 1+len(s.PatternProperties))
	if s.Pattern != "" {
		patterns = append(patterns, s.Pattern)
	}
	for pattern := range s.PatternProperties {
		patterns = append(patterns, pattern)
	}
	return b.patterns(p, patterns)
}

func (b *bounding) patterns(p *place, patterns []string) error {
	for _, pattern := range patterns {
		if p.text += len(pattern); len(pattern) > MaxPattern {
			return tooComplex("a pattern has %d bytes, at most %d are allowed", len(pattern), MaxPattern)
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return fmt.Errorf("pattern %q: %w", core.Excerpt(pattern), err)
		}
		size := instructions(parsed)
		p.program += size
		if b.programs += size; b.programs > MaxPatterns {
			return tooComplex("its patterns have more than %d instructions together", MaxPatterns)
		}
	}
	return nil
}

// instructions is about as many as the compiled pattern has, but MaxPatterns + 1 at most.
// Repetitions are written out.
func instructions(r *syntax.Regexp) int {
	n := 1 + len(r.Rune)
	for _, sub := range r.Sub {
		n += instructions(sub)
	}
	if r.Op == syntax.OpRepeat {
		n *= max(r.Min, r.Max, 1)
	}
	return min(n, MaxPatterns+1)
}

// refer finds what a reference may lead to: of an anchor all that have its name, since
// which of them counts may depend on the way there.
func (b *bounding) refer(p *place, ref string) error {
	if ref == "" {
		return nil
	}
	uri, err := url.Parse(ref)
	if err != nil {
		return fmt.Errorf("reference %q: %w", core.Excerpt(ref), err)
	}
	uri = p.base.uri.ResolveReference(uri)
	document := *uri
	document.Fragment, document.RawFragment = "", ""
	var found []*place
	if to := b.bases[document.String()]; to != nil {
		if uri.Fragment != "" && uri.Fragment[0] != '/' {
			found = b.anchors[uri.Fragment]
		} else if whole := b.paths[to.path+uri.Fragment]; whole != nil {
			found = []*place{whole}
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("reference %q leads nowhere within the schema", core.Excerpt(ref))
	}
	if b.referred += len(found); b.referred > MaxReferred {
		return tooComplex("its references may lead to more than %d schemas together", MaxReferred)
	}
	p.refers = append(p.refers, found...)
	return nil
}

// unroll counts the schemas that apply to one value when this one does.
func (b *bounding) unroll(p *place) error {
	if p.unrolled > 0 {
		return nil
	}
	if p.unrolled < 0 {
		return tooComplex("a schema refers to itself without going into the value, so more than %d would apply to it", MaxUnrolled)
	}
	p.unrolled = -1
	n := 1
	for same := range b.same(p) {
		if err := b.unroll(same); err != nil {
			return err
		}
		if n += same.unrolled; n > MaxUnrolled {
			return tooComplex("more than %d schemas apply to one value when the references are followed", MaxUnrolled)
		}
	}
	p.unrolled = n
	return nil
}

// same are the places that apply to the value that p applies to.
func (b *bounding) same(p *place) func(yield func(*place) bool) {
	return func(yield func(*place) bool) {
		for _, to := range p.refers {
			if !yield(to) {
				return
			}
		}
		for _, s := range inPlace(p.schema) {
			if !yield(b.places[s]) {
				return
			}
		}
	}
}

// inPlace are the parts of a schema that apply to the same value as it.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := make([]*jsonschema.Schema, 0, len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+4)
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, one := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	for _, named := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, one := range named {
			all = append(all, one)
		}
	}
	return all
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// parts are the schemas directly within one, by their JSON Pointer from it.
func parts(s *jsonschema.Schema) func(yield func(string, *jsonschema.Schema) bool) {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for _, one := range []struct {
			name string
			part *jsonschema.Schema
		}{
			{"items", s.Items}, {"additionalItems", s.AdditionalItems}, {"contains", s.Contains}, {"unevaluatedItems", s.UnevaluatedItems},
			{"additionalProperties", s.AdditionalProperties}, {"propertyNames", s.PropertyNames}, {"unevaluatedProperties", s.UnevaluatedProperties},
			{"not", s.Not}, {"if", s.If}, {"then", s.Then}, {"else", s.Else}, {"contentSchema", s.ContentSchema},
		} {
			if one.part != nil && !yield("/"+one.name, one.part) {
				return
			}
		}
		for _, list := range []struct {
			name  string
			parts []*jsonschema.Schema
		}{{"prefixItems", s.PrefixItems}, {"items", s.ItemsArray}, {"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}} {
			for i, part := range list.parts {
				if !yield("/"+list.name+"/"+strconv.Itoa(i), part) {
					return
				}
			}
		}
		for _, named := range []struct {
			name  string
			parts map[string]*jsonschema.Schema
		}{
			{"$defs", s.Defs}, {"definitions", s.Definitions}, {"properties", s.Properties}, {"patternProperties", s.PatternProperties},
			{"dependentSchemas", s.DependentSchemas}, {"dependencies", s.DependencySchemas},
		} {
			for name, part := range named.parts {
				if !yield("/"+named.name+"/"+escape.Replace(name), part) {
					return
				}
			}
		}
	}
}
