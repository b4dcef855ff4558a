package tool

import (
	"bytes"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is a schema of nothing but types, properties and items, as inferred from
// a struct. It recognises most valid arguments in one pass over their text,
// where the schema's own validation needs them decoded and some forty
// allocations. It only ever says that a value is valid: what it does not
// recognise, the schema decides about, and explains.
type shape struct {
	kinds      kinds             // that are allowed; 0: any
	properties map[string]*shape // of an object
	required   []string
	closed     bool   // it has no other properties
	items      *shape // of an array; nil: anything
}

// kinds is a set of kinds of values.
type kinds uint8

const (
	kindObject kinds = 1 << iota
	kindArray
	kindString
	kindBoolean
	kindNull
	kindInteger
	kindNumber
)

var kindOf = map[string]kinds{
	"object": kindObject, "array": kindArray, "string": kindString, "boolean": kindBoolean,
	"null": kindNull, "integer": kindInteger, "number": kindNumber,
}

// maxRequired is how many properties a shape can require: see scanner.object.
const maxRequired = 64

// shapeOf returns nil for a schema that says more than a shape can.
func shapeOf(s *jsonschema.Schema) *shape {
	more := *s
	more.Title, more.Description, more.Examples, more.PropertyOrder = "", "", nil, nil
	more.Type, more.Types, more.Properties, more.Required, more.AdditionalProperties, more.Items = "", nil, nil, nil, nil, nil
	if !reflect.ValueOf(more).IsZero() || len(s.Required) > maxRequired {
		return nil
	}
	f := &shape{required: s.Required, properties: make(map[string]*shape, len(s.Properties))}
	for _, name := range types(s) {
		if kindOf[name] == 0 {
			return nil
		}
		f.kinds |= kindOf[name]
	}
	for name, property := range s.Properties {
		if f.properties[name] = shapeOf(property); f.properties[name] == nil {
			return nil
		}
	}
	if s.Items != nil {
		if f.items = shapeOf(s.Items); f.items == nil {
			return nil
		}
	}
	if others := s.AdditionalProperties; others != nil {
		if f.closed = reflect.DeepEqual(*others, jsonschema.Schema{Not: &jsonschema.Schema{}}); !f.closed {
			return nil
		}
	}
	return f
}

// fits reports whether the value, if it is JSON, is surely valid. A nil shape
// recognises nothing.
func (f *shape) fits(value []byte) bool {
	const depth = 32 // deeper values are left to the schema
	s := scanner{value}
	return f != nil && s.value(f, depth)
}

// scanner goes over the text of a value. Its methods return false where the text
// does not fit, or is not as plain as they expect. They need not find out that it
// is no JSON.
type scanner struct{ rest []byte }

// value passes one value; a nil shape allows any.
func (s *scanner) value(f *shape, depth int) bool {
	if depth == 0 {
		return false
	}
	kind := s.kind()
	if kind == 0 || f != nil && f.kinds != 0 && f.kinds&kind == 0 {
		return false
	}
	switch kind {
	case kindObject:
		return s.object(f, depth)
	case kindArray:
		return s.array(f, depth)
	case kindString:
		_, ok := s.text()
		return ok
	}
	return true
}

// kind says what the next value is. It passes what has no inside.
func (s *scanner) kind() kinds {
	switch c := s.next(); c {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindString
	case 't':
		return s.literal("true", kindBoolean)
	case 'f':
		return s.literal("false", kindBoolean)
	case 'n':
		return s.literal("null", kindNull)
	default:
		return s.number()
	}
}

func (s *scanner) literal(text string, kind kinds) kinds {
	rest, ok := bytes.CutPrefix(s.rest, []byte(text))
	if !ok {
		return 0
	}
	s.rest = rest
	return kind
}

// number passes a number without an exponent, which surely is no infinity.
func (s *scanner) number() kinds {
	const longest = 15 // so many digits are exact in a float64
	token := s.rest[:len(s.rest)-len(bytes.TrimLeft(s.rest, "-.0123456789"))]
	if len(token) == 0 || len(token) > longest {
		return 0
	}
	s.rest = s.rest[len(token):]
	if c := s.next(); c == 'e' || c == 'E' {
		return 0
	}
	if bytes.IndexByte(token, '.') >= 0 {
		return kindNumber
	}
	return kindInteger | kindNumber
}

// object passes an object. Of a property that is there twice, both must fit.
func (s *scanner) object(f *shape, depth int) bool {
	var has uint64 // of the required properties
	for first := true; ; first = false {
		s.rest = s.rest[1:] // the brace or the comma
		if first && s.next() == '}' {
			break
		}
		name, ok := s.text()
		if !ok || !asWritten(name) || s.next() != ':' {
			return false
		}
		s.rest = s.rest[1:]
		var property *shape
		if f != nil {
			if property = f.properties[string(name)]; property == nil && f.closed {
				return false
			}
			if i := slices.Index(f.required, string(name)); i >= 0 {
				has |= 1 << i
			}
		}
		if !s.value(property, depth-1) {
			return false
		}
		if c := s.next(); c == '}' {
			break
		} else if c != ',' {
			return false
		}
	}
	s.rest = s.rest[1:]
	return f == nil || has == 1<<len(f.required)-1
}

func (s *scanner) array(f *shape, depth int) bool {
	var items *shape
	if f != nil {
		items = f.items
	}
	for first := true; ; first = false {
		s.rest = s.rest[1:] // the bracket or the comma
		if first && s.next() == ']' {
			break
		}
		if !s.value(items, depth-1) {
			return false
		}
		if c := s.next(); c == ']' {
			break
		} else if c != ',' {
			return false
		}
	}
	s.rest = s.rest[1:]
	return true
}

// text passes a string and returns what stands between its quotes.
func (s *scanner) text() (held []byte, ok bool) {
	if s.next() != '"' {
		return nil, false
	}
	inside := s.rest[1:]
	for i := 0; i < len(inside); i++ {
		switch inside[i] {
		case '\\':
			i++
		case '"':
			s.rest = inside[i+1:]
			return inside[:i], true
		}
	}
	return nil, false
}

// asWritten reports whether a name reads as it is written: another may be spelled
// in several ways.
func asWritten(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// next returns the next byte that is no white space, 0 at the end.
func (s *scanner) next() byte {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	if len(s.rest) == 0 {
		return 0
	}
	return s.rest[0]
}
