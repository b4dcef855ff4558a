package strict

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// plan is how values of a type are decoded. It never changes once it is published.
type plan struct {
	form   form
	item   *plan // of what a pointer, a list or a map has
	fields []field
	names  map[string]spelling // of the fields
	want   string              // the JSON of the type, such as "a string"
	least  int64               // of a whole number
	most   uint64
	bound  bool // they are part of what is wanted: a tag has set one, or the type has few bits

	takesNull bool // null is a value of the type
}

// skipsNull reports whether null leaves a value of the type as it is, or makes it nil.
func (p *plan) skipsNull() bool { return p.form >= formWord }

type form uint8

const (
	formOther   form = iota // encoding/json decodes it
	formForeign             // encoding/json decodes it, and refuses unknown fields
	formBroken              // none can be decoded: a tag makes no sense, want names it
	formOwn                 // one with UnmarshalStrict
	formSelf                // a json.Unmarshaler
	formRaw                 // a json.RawMessage
	formBytes               // bytes as base64: encoding/json decodes them
	formWord                // an encoding.TextUnmarshaler: encoding/json decodes it
	formObject              // a struct
	formMap                 // a map with names of a string type
	formList                // a slice
	formPointer
	formString
	formBool
	formInt
	formUint
)

// field is one of a struct.
type field struct {
	spellings []string // the name, and others of it
	index     []int    // of the field in the struct and those that it embeds
	plan      *plan
	required  bool
}

// spelling is one of the names of a field.
type spelling struct{ field, number int }

// plans are the plans of all types that were decoded into, by reflect.Type: a type never
// changes, and to look at it costs more than to decode a small value.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	made := planner{}
	p := made.plan(t)
	for t, p := range made {
		plans.LoadOrStore(t, p)
	}
	return p
}

// planner makes plans. It has those that are not whole yet: a type may contain itself.
type planner map[reflect.Type]*plan

var (
	ownUnmarshaler  = reflect.TypeFor[ownDecoder]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawMessage      = reflect.TypeFor[json.RawMessage]()
)

func (made planner) plan(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	if p := made[t]; p != nil {
		return p
	}
	p := &plan{want: wanted(t)}
	made[t] = p
	switch own := reflect.PointerTo(t); {
	case t == rawMessage:
		p.form, p.takesNull = formRaw, true
	case t.Kind() != reflect.Pointer && own.Implements(ownUnmarshaler):
		p.form = formOwn
	case t.Kind() != reflect.Pointer && own.Implements(unmarshaler):
		if p.form = formSelf; p.want == wholeNumber { // an amount of money has fractions
			p.want = "a number"
		}
	case t.Kind() != reflect.Pointer && own.Implements(textUnmarshaler):
		p.form, p.want = formWord, "a string"
	default:
		made.fill(p, t)
	}
	return p
}

// fill makes the plan of a type that does not decode itself.
func (made planner) fill(p *plan, t reflect.Type) {
	switch t.Kind() {
	case reflect.Interface:
		p.takesNull = true
	case reflect.Struct:
		made.object(p, t)
	case reflect.Map:
		if key := t.Key(); key.Kind() == reflect.String && !reflect.PointerTo(key).Implements(textUnmarshaler) {
			p.form, p.item = formMap, made.plan(t.Elem())
		}
	case reflect.Slice:
		if p.form = formBytes; t.Elem().Kind() != reflect.Uint8 {
			p.form, p.item = formList, made.plan(t.Elem())
		}
	case reflect.Pointer:
		p.form, p.item = formPointer, made.plan(t.Elem())
	case reflect.String:
		if p.form = formString; t == reflect.TypeFor[json.Number]() {
			p.form, p.want = formOther, "a number"
		}
	case reflect.Bool:
		p.form = formBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.form, p.bound = formInt, t.Bits() <= 16
		p.least, p.most = math.MinInt64>>(64-t.Bits()), math.MaxInt64>>(64-t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.form, p.bound = formUint, t.Bits() <= 16
		p.most = math.MaxUint64 >> (64 - t.Bits())
	}
}

// object makes the plan of a struct.
func (made planner) object(p *plan, t reflect.Type) {
	all, ok := members(t, nil)
	if !ok {
		p.form = formForeign
		return
	}
	p.form, p.names = formObject, map[string]spelling{}
	for _, m := range visible(all) {
		f := field{spellings: []string{m.name}, index: m.index, plan: made.plan(m.of.Type)}
		f.required = !strings.Contains(m.options, "omitempty") && !strings.Contains(m.options, "omitzero")
		if tag := m.of.Tag.Get("strict"); tag != "" && !f.narrow(tag) {
			p.form, p.want = formBroken, fmt.Sprintf("of type %s, whose field %s has the tag %q", t, m.of.Name, tag)
			return
		}
		for i, name := range f.spellings {
			p.names[name] = spelling{field: len(p.fields), number: i}
		}
		p.fields = append(p.fields, f)
	}
}

// narrow applies the field's tag; ok is false where that makes no sense.
func (f *field) narrow(tag string) (ok bool) {
	number := f.plan
	for number.form == formPointer {
		number = number.item
	}
	own, bounded := *number, false // other fields of the type have other bounds
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "also":
			f.spellings = append(f.spellings, value)
			continue
		case "null":
			if f.plan.form != formSelf && f.plan.form != formOwn {
				return false
			}
			nullable := *f.plan
			nullable.takesNull, f.plan = true, &nullable
			continue
		case "min":
			own.least, err = strconv.ParseInt(value, 10, 64)
		case "max":
			own.most, err = strconv.ParseUint(value, 10, 64)
		default:
			return false
		}
		if own.bound, bounded = true, true; err != nil {
			return false
		}
	}
	if bounded {
		f.plan = rebound(f.plan, &own)
	}
	return !bounded || own.form == formInt || own.form == formUint
}

// rebound is the plan of pointers, or none, to another number.
func rebound(p, number *plan) *plan {
	if p.form != formPointer {
		return number
	}
	pointer := *p
	pointer.item = rebound(p.item, number)
	return &pointer
}

// member is a field of a struct, or of one that it embeds.
type member struct {
	name, options string
	named         bool // the tag says the name
	index         []int
	of            reflect.StructField
}

// members returns all of them; ok is false for a struct that encoding/json must decode: it
// embeds pointers, or wants values in strings.
func members(t reflect.Type, before []int) (all []member, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(slices.Clone(before), i)
		switch {
		case f.Tag.Get("json") == "-":
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			inner, ok := members(f.Type, index)
			if !ok {
				return nil, false
			}
			all = append(all, inner...)
			continue
		case f.Anonymous && f.Type.Kind() == reflect.Pointer, strings.Contains(options, "string"):
			return nil, false
		case !f.IsExported():
			continue
		}
		m := member{name: name, options: options, named: name != "", index: index, of: f}
		if !m.named {
			m.name = f.Name
		}
		all = append(all, m)
	}
	return all, true
}

// visible leaves out what other members hide, as encoding/json does: of those with one
// name the least nested counts, of several such the one whose tag says the name, and
// none if that does not decide.
func visible(all []member) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool {
		return slices.ContainsFunc(all, func(other member) bool {
			if other.name != m.name || slices.Equal(other.index, m.index) {
				return false
			}
			if len(other.index) != len(m.index) {
				return len(other.index) < len(m.index)
			}
			return other.named || !m.named
		})
	})
}

// allowed are the names that an object may have.
func (p *plan) allowed() []string {
	names := make([]string, 0, len(p.fields))
	for _, f := range p.fields {
		names = append(names, f.spellings[0])
	}
	return names
}

const wholeNumber = "a whole number"

// wanted names the JSON that a type is decoded from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string of base64"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Interface:
		return "JSON"
	}
	return wholeNumber
}
