package thread

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Unknown holds the members of a JSON object that a struct has no field for: a
// newer program's. They are kept when the object is written again.
type Unknown map[string]json.RawMessage

// UnknownIn returns the members of the object b that v, a struct or a pointer to one,
// has no field for, without the names in except; nil when it has no such member.
func UnknownIn(b []byte, v any, except ...string) (Unknown, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	known := fieldNames(reflect.TypeOf(v))
	// In any case, as encoding/json reads them: a member with the same name as its
	// field would win over it when the object is read again.
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		same := func(k string) bool { return strings.EqualFold(k, name) }
		return slices.ContainsFunc(known, same) || slices.ContainsFunc(except, same)
	})
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// fieldsOf keeps what fieldNames has found: reflection is the slowest part of
// reading a record.
var fieldsOf sync.Map // reflect.Type -> []string

// fieldNames are the names that encoding/json gives the fields of a struct.
func fieldNames(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if names, ok := fieldsOf.Load(t); ok {
		return names.([]string)
	}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && !field.Anonymous:
			names = append(names, field.Name)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	fieldsOf.Store(t, names)
	return names
}

// AppendTo adds the members, in the order of their names, to an encoded object.
func (u Unknown) AppendTo(object []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(u)) {
		object = bytes.TrimSuffix(object, []byte("}"))
		if !bytes.HasSuffix(object, []byte("{")) {
			object = append(object, ',')
		}
		quoted, _ := json.Marshal(name) // a string always encodes
		object = append(append(append(object, quoted...), ':'), u[name]...)
		object = append(object, '}')
	}
	return object
}
