package strict

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
)

// How deep lists and objects nest, the outermost counted.
const (
	defaultDepth = 64     // at most, where Options do not say
	anyDepth     = 10_000 // as deep as encoding/json goes
)

// Options change how a value is decoded. The zero value is that of [Decode].
type Options struct {
	// Name is what errors call the value as a whole, such as "body"; empty: "value".
	Name string
	// MaxBytes is the size of the largest value; 0: any.
	MaxBytes int
	// MaxDepth is how deep lists and objects nest at most, the outermost counted; 0: 64.
	// Below 0: as deep as encoding/json goes, for what a program has stored.
	MaxDepth int
	// NoNull refuses null, except for json.RawMessage, any and fields whose tag allows it.
	// Without it, null has the effect that it has in encoding/json: it leaves most fields
	// as they are.
	NoNull bool
	// Required refuses an object that lacks a field of its struct, unless the field's tag
	// has omitempty or omitzero.
	Required bool
	// WholeFloats takes 7.0 and 7e3 for whole numbers, up to 2^53: JSON has one kind of
	// number, and some languages write all of them so.
	WholeFloats bool
	// Raw looks for names that are given twice within json.RawMessage and any, too.
	Raw bool
	// Stop is called before every 256th part of the value; its error ends decoding. Nil:
	// nothing does.
	Stop func() error
}

// Decode decodes one JSON value into the pointer's target; it may have been written to when
// there is an error. Unless a type decodes itself, names of fields are compared exactly.
// Elements of a slice start from zero, and ignore the earlier elements.
//
// Errors are of type *[Error], with code invalid. A json.Unmarshaler may return the error
// of another Decode, whose path is then corrected, or of [Errorf].
func Decode(data []byte, into any) error { return Options{}.Decode(data, into) }

// Decode is the function Decode with options.
func (o Options) Decode(data []byte, into any) error {
	o.MaxDepth = o.depth()
	if o.MaxBytes > 0 && len(data) > o.MaxBytes {
		return problem(0, "has %d bytes, at most %d are allowed", len(data), o.MaxBytes).of(o.Name)
	}
	target := reflect.ValueOf(into).Elem()
	p := planOf(target.Type())
	if !json.Valid(data) {
		return o.syntax(data, p.want).of(o.Name)
	}
	d := decoder{options: &o, data: data}
	d.skipSpace()
	if err := d.value(p, target); err != nil {
		return err.of(o.Name)
	}
	return nil
}

// depth returns how deep lists and objects nest at most.
func (o Options) depth() int {
	if o.MaxDepth < 0 {
		return anyDepth
	}
	return cmp.Or(o.MaxDepth, defaultDepth)
}

// CheckDepth returns the error of a text that is nested too deeply: what Decode would
// return. The text need not be JSON, and nothing else of it is checked.
func (o Options) CheckDepth(text []byte) error {
	if at, deep := tooDeepAt(text, o.depth()); deep {
		return tooDeep(at, o.depth()).of(o.Name)
	}
	return nil
}

// syntax returns why data is not one JSON value.
func (o Options) syntax(data []byte, want string) *Error {
	if at, deep := tooDeepAt(data, o.MaxDepth); deep {
		return tooDeep(at, o.MaxDepth)
	}
	err := json.Unmarshal(data, new(json.RawMessage))
	var broken *json.SyntaxError
	if !errors.As(err, &broken) { // cannot be
		return problem(0, "is not JSON: %v", err)
	}
	if blank(data) {
		return problem(0, "is empty, want %s", want)
	}
	at := max(int(broken.Offset)-1, 0) // it counts the byte that is wrong
	if broken.Error() == endsEarly {
		at = len(data)
	}
	return problem(at, "is not JSON at byte %d: %w", at+1, err)
}

// endsEarly is what encoding/json says of a value without its end.
const endsEarly = "unexpected end of JSON input"
