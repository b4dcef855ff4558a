// Package strict decodes the JSON of specs: an unknown field, one that is given
// twice and a value of a wrong type are errors that say where they stand, so that
// whoever loaded the JSON from elsewhere can find the line.
package strict

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Error is what is wrong at one place of a JSON value.
type Error struct {
	Path    string // such as "members[2].weight"; empty: the value as a whole
	problem string
	kind    kind
}

type kind uint8

const (
	wrong   kind = iota // the path is the sentence's subject
	unknown             // the path's last part is not a field of the rest
	told                // the problem is a whole sentence
)

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.kind == told:
		return e.problem
	case e.kind == unknown:
		parent, name := split(e.Path)
		if parent != "" {
			parent = " in " + parent
		}
		return fmt.Sprintf("unknown field %q%s, %s", core.Excerpt(name), parent, e.problem)
	case e.Path == "":
		return "value " + e.problem
	}
	return e.Path + " " + e.problem
}

// Unknown reports whether err is an unknown field.
func Unknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.kind == unknown
}

// under returns e as it is called by what contains the value at path.
func (e *Error) under(path string) *Error {
	inner := *e
	switch {
	case path == "":
	case inner.Path == "" || inner.Path[0] == '[':
		inner.Path = path + inner.Path
	default:
		inner.Path = path + "." + inner.Path
	}
	return &inner
}

// Join returns the path of an object's member.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of a list's item.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// split cuts the last name off a path. Names of unknown fields may hold dots: such
// a name is cut short in the message, the path still leads to it.
func split(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// Decode reads one JSON value into what the pointer points to. Names of fields are
// compared exactly, null leaves a field as it is, and anything behind the value is
// an error. Errors are *Error or wrap a syntax error; a custom json.Unmarshaler may
// return an *Error of its own Decode, whose path is put right.
func Decode(data []byte, into any) error {
	if err := syntax(data); err != nil {
		return err
	}
	if err := check(data, reflect.TypeOf(into).Elem(), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil { // what check has not foreseen
		return &Error{problem: err.Error(), kind: told}
	}
	return nil
}

// syntax returns an error unless data is one JSON value.
func syntax(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("there is nothing to decode")
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// check compares valid JSON with the type that it is for.
func check(data []byte, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t)
	switch {
	case own.Implements(unmarshaler) || own.Implements(textUnmarshaler):
		return try(data, t, path)
	case string(bytes.TrimSpace(data)) == "null":
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkObject(data, path, fields(t), nil)
	case reflect.Map:
		return checkObject(data, path, nil, t.Elem())
	case reflect.Slice:
		return checkList(data, t.Elem(), path)
	}
	return try(data, t, path)
}

// try decodes a value that has no parts of ours.
func try(data []byte, t reflect.Type, path string) error {
	err := json.Unmarshal(data, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	var inner *Error
	if errors.As(err, &inner) {
		return inner.under(path)
	}
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return mismatch(data, wanted(t), path)
	}
	return &Error{Path: path, problem: err.Error(), kind: told}
}

func mismatch(data []byte, want, path string) error {
	return &Error{Path: path, problem: fmt.Sprintf("is %s, want %s", core.Excerpt(string(bytes.TrimSpace(data))), want)}
}

// wanted says what JSON a kind is decoded from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "an integer"
}

// checkObject checks an object that is a struct with known fields or, where known
// is nil, a map of one type.
func checkObject(data []byte, path string, known []field, of reflect.Type) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, _ := decoder.Token(); open != json.Delim('{') {
		return mismatch(data, "an object", path)
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		at, t := Join(path, name), of
		if seen[name] {
			return &Error{Path: at, problem: "is given twice"}
		}
		seen[name] = true
		if t == nil {
			if t = find(known, name); t == nil {
				return &Error{Path: at, problem: instead(name, known), kind: unknown}
			}
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if err := check(value, t, at); err != nil {
			return err
		}
	}
	return nil
}

func checkList(data []byte, item reflect.Type, path string) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, _ := decoder.Token(); open != json.Delim('[') {
		return mismatch(data, "a list", path)
	}
	for i := 0; decoder.More(); i++ {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if err := check(value, item, Index(path, i)); err != nil {
			return err
		}
	}
	return nil
}

// field is a struct's field as JSON calls it.
type field struct {
	name string
	kind reflect.Type
}

// fields returns those of a struct and of the structs that it embeds, in order.
func fields(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all = append(all, field{name, f.Type})
	}
	return all
}

func find(known []field, name string) reflect.Type {
	for _, f := range known {
		if f.name == name {
			return f.kind
		}
	}
	return nil
}
