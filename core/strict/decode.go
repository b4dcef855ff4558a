package strict

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// decoder goes over valid JSON once. Its methods start where a value does and end after it;
// their errors have paths from that value on.
type decoder struct {
	options *Options
	data    []byte
	at      int // index in data
	depth   int // of the lists and objects that are open
	parts   int // the number of started members and items
}

func (d *decoder) skipSpace() {
	for d.at < len(d.data) && isSpace(d.data[d.at]) {
		d.at++
	}
}

// part is called at each name of an object and each item of a list.
func (d *decoder) part() *Error {
	if d.parts++; d.options.Stop == nil || d.parts%256 != 1 {
		return nil
	}
	if err := d.options.Stop(); err != nil {
		return &Error{Offset: d.at, kind: stopped, cause: err}
	}
	return nil
}

// opened is called at the opening bracket of a list or object, closed after the other one.
func (d *decoder) opened() *Error {
	if d.depth++; d.depth > d.options.MaxDepth {
		return tooDeep(d.at, d.options.MaxDepth)
	}
	d.at++
	d.skipSpace()
	return nil
}

// more reports whether there is another member or item before the closing bracket, and
// moves past that if there is none.
func (d *decoder) more(end byte) bool {
	if d.data[d.at] == ',' {
		d.at++
		d.skipSpace()
	}
	if d.data[d.at] != end {
		return true
	}
	d.at++
	d.depth--
	return false
}

// raw returns a value as it is written.
func (d *decoder) raw() ([]byte, *Error) {
	begin := d.at
	if d.at = endOfValue(d.data, begin, d.options.MaxDepth-d.depth); d.at < 0 {
		at, _ := tooDeepAt(d.data, d.options.MaxDepth)
		return nil, tooDeep(at, d.options.MaxDepth)
	}
	if d.options.Raw {
		inner := decoder{options: d.options, data: d.data, at: begin, depth: d.depth}
		if err := inner.look(); err != nil {
			return nil, err
		}
	}
	return d.data[begin:d.at:d.at], nil
}

// look goes over a value of any form and looks for names that are given twice.
func (d *decoder) look() *Error {
	switch d.data[d.at] {
	case '{':
		return d.object(func(string, int) *Error { return d.look() })
	case '[':
		return d.list(func(int) *Error { return d.look() })
	}
	d.at = endOfValue(d.data, d.at, 0)
	return nil
}

// value decodes one value.
func (d *decoder) value(p *plan, v reflect.Value) *Error {
	if d.data[d.at] == 'n' && (p.skipsNull() || d.options.NoNull && !p.takesNull) {
		return d.null(p, v)
	}
	switch p.form {
	case formObject:
		return d.fields(p, v)
	case formMap:
		return d.entries(p, v)
	case formList:
		return d.items(p, v)
	case formPointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(p.item, v.Elem())
	case formString:
		text, err := d.text(p)
		if err == nil {
			v.SetString(text)
		}
		return err
	}
	if p.form == formOwn {
		return d.own(p, v)
	}
	return d.single(p, v)
}

// own lets a value decode itself.
func (d *decoder) own(p *plan, v reflect.Value) *Error {
	begin := d.at
	err := v.Addr().Interface().(ownDecoder).UnmarshalStrict(Value{d, begin})
	if err != nil {
		return d.foreign(err, p, begin)
	}
	if d.at > begin {
		return nil // it has been decoded
	}
	_, failed := d.raw()
	return failed
}

// null leaves a value as it is, or makes it nil.
func (d *decoder) null(p *plan, v reflect.Value) *Error {
	if d.options.NoNull {
		return d.mismatch(p, d.at)
	}
	if p.form == formPointer || p.form == formMap || p.form == formList {
		v.SetZero()
	}
	d.at += len("null")
	return nil
}

// mismatch is the error of a value of another form than the type's.
func (d *decoder) mismatch(p *plan, begin int) *Error {
	for p.form == formPointer {
		p = p.item
	}
	return problem(begin, "is %s, want %s", d.found(begin), d.wants(p, begin))
}

// found is what a value is, for errors: a list or an object, else itself.
func (d *decoder) found(begin int) string {
	switch d.data[begin] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	end := endOfValue(d.data, begin, 0)
	return core.Excerpt(string(d.data[begin:min(end, begin+256)])) // no more than is shown: it may be large
}

// wants is the JSON that a plan is for. The bounds of a whole number are part of it where
// its field has some, or where they are what is wrong.
func (d *decoder) wants(p *plan, begin int) string {
	whole := p.form == formInt || p.form == formUint
	if !whole || !p.bound && bytes.ContainsAny(d.data[begin:endOfValue(d.data, begin, math.MaxInt)], `.eE"[{tfn`) {
		return p.want
	}
	return fmt.Sprintf("%s from %d to %d", p.want, p.least, p.most)
}

// text reads a string.
func (d *decoder) text(p *plan) (string, *Error) {
	begin := d.at
	if d.data[begin] != '"' {
		return "", d.mismatch(p, begin)
	}
	end, plain := endOfString(d.data, begin)
	d.at = end
	text, err := unquote(d.data[begin:end], plain)
	return text, d.foreign(err, p, begin)
}

// single decodes a value that has no parts of ours.
func (d *decoder) single(p *plan, v reflect.Value) *Error {
	begin := d.at
	raw, failed := d.raw()
	if failed != nil {
		return failed
	}
	var err error
	ok := true
	switch p.form {
	case formRaw:
		v.SetBytes(bytes.Clone(raw))
	case formBool:
		if ok = raw[0] == 't' || raw[0] == 'f'; ok {
			v.SetBool(raw[0] == 't')
		}
	case formInt, formUint:
		ok = d.number(p, v, string(raw))
	case formSelf:
		err = v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw)
	case formForeign:
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(v.Addr().Interface())
	case formBytes:
		ok, err = decodeBytes(raw, v)
	case formBroken:
		return problem(begin, "is %s", p.want)
	default:
		err = json.Unmarshal(raw, v.Addr().Interface())
	}
	if !ok {
		return d.mismatch(p, begin)
	}
	return d.foreign(err, p, begin)
}

// decodeBytes decodes bytes that are written as base64, or null; false: it is something
// else. A list of numbers, which encoding/json takes, is.
func decodeBytes(raw []byte, v reflect.Value) (ok bool, err error) {
	switch {
	case raw[0] == 'n':
		v.SetZero()
		return true, nil
	case raw[0] != '"':
		return false, nil
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		return true, json.Unmarshal(raw, v.Addr().Interface())
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(inner)))
	n, err := base64.StdEncoding.Decode(decoded, inner)
	v.SetBytes(decoded[:n])
	return true, err
}

// foreign is the error of a decoder that is not this one, nil without.
func (d *decoder) foreign(err error, p *plan, begin int) *Error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*Error); ok { // not errors.As: what wraps an error says more
		moved := *inner
		moved.Offset += begin
		return &moved
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field == "" {
		return d.mismatch(p, begin)
	}
	return &Error{Offset: begin, kind: ownError, cause: core.DecodeError(err)}
}

// number decodes a whole number; false: it is invalid for the type, or beyond its bounds.
func (d *decoder) number(p *plan, v reflect.Value, raw string) bool {
	if p.form == formUint {
		n, err := strconv.ParseUint(raw, 10, 64)
		if err != nil && d.options.WholeFloats {
			var whole int64
			whole, err = wholeFloat(raw)
			n = uint64(whole)
			if whole < 0 {
				return false
			}
		}
		v.SetUint(n)
		return err == nil && n <= p.most && (p.least < 0 || n >= uint64(p.least))
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil && d.options.WholeFloats {
		n, err = wholeFloat(raw)
	}
	v.SetInt(n)
	return err == nil && n >= p.least && (n < 0 || uint64(n) <= p.most)
}

// wholeFloat reads a whole number that is written as a fraction or a power.
func wholeFloat(raw string) (int64, error) {
	f, err := strconv.ParseFloat(raw, 64)
	if err == nil && (f != math.Trunc(f) || math.Abs(f) >= 1<<53) { // beyond it a float is not exact
		err = strconv.ErrRange
	}
	return int64(f), err
}
