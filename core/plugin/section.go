package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/strict"
)

// Section declares a part of an agent's spec that configures a plugin: its JSON
// decodes, strictly, into a C. A plugin that reads it in Register has other settings
// for each agent.
//
//	var limits = plugin.Section[Limits]{Name: "limits", Default: Limits{PerDay: 10}}
//
//	func (p quota) Register(r *plugin.Registrar) error {
//		l, err := limits.Read(r)
//		...
//	}
//
// A spec that is written in Go has it by [Section.Setting].
type Section[C any] struct {
	Name    string // key in the spec's sections
	Default C      // of agents without the section, and of members that it leaves out; copied as JSON
}

// Read returns the section of the agent that the plugin is registered for. An unknown
// member, one of another type, and every error of a method Check() error of C or *C are
// errors that name the section.
func (s Section[C]) Read(r *Registrar) (C, error) {
	if s.Name == "" {
		r.to.Refuse("section has no name")
		return s.Default, nil
	}
	value, err := s.decode(r.to.Sections[s.Name])
	if err != nil {
		return value, field.At(s.place(err), fmt.Errorf("section %q: %w", s.Name, err))
	}
	return value, r.declare(s.Name, value)
}

// place is the path of the member of the spec that an error of decode is about.
func (s Section[C]) place(err error) string {
	path := strict.Path("sections").Member(s.Name)
	if decoding, ok := errors.AsType[*strict.Error](err); ok && decoding.Path != "" {
		path = path.Member(string(decoding.Path))
	}
	return string(path)
}

// Of returns what Read has returned for the context's agent; the Default where the
// section was not read.
func (s Section[C]) Of(c Context) C {
	if c.Agent != nil {
		if value, ok := c.Agent.Sections[s.Name].(C); ok {
			return value
		}
	}
	return s.Default
}

// Schema returns the JSON Schema of the section, for editors. The error is a C that
// has none.
func (s Section[C]) Schema() (json.RawMessage, error) {
	schema, err := jsonschema.For[C](nil)
	if err != nil {
		return nil, fmt.Errorf("schema of section %q: %w", s.Name, err)
	}
	optional(schema)
	return json.Marshal(schema)
}

// optional makes the schema accept what Read does: every member is optional.
func optional(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Required = nil
	optional(s.Items)
	optional(s.AdditionalProperties)
	for _, member := range s.Properties {
		optional(member)
	}
}

func (s Section[C]) decode(raw json.RawMessage) (C, error) {
	if raw == nil {
		return s.Default, nil
	}
	if err := (Setting{Name: s.Name, Value: raw}).Check(); err != nil {
		return s.Default, err
	}
	// Decoding into a copy: a map or slice of the Default would be written into.
	value, err := copyOf(s.Default)
	if err != nil {
		return value, err
	}
	if err := strict.Decode(raw, &value); err != nil {
		return value, core.Errorf(core.CodeInvalid, "%w", err)
	}
	type checker interface{ Check() error }
	checked, ok := any(&value).(checker) // has the methods of C, too
	if !ok {
		checked, ok = any(value).(checker) // C is a pointer itself
	}
	if ok {
		return value, checked.Check()
	}
	return value, nil
}

func copyOf[C any](value C) (again C, err error) {
	if reflect.ValueOf(&value).Elem().IsZero() {
		return again, nil
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	return again, err
}

// declare notes a section that a plugin has read. Two plugins may share one, as the
// same type.
func (r *Registrar) declare(name string, value any) error {
	if r.to.Values == nil {
		r.to.Values = map[string]any{}
	}
	if before, exists := r.to.Values[name]; exists && reflect.TypeOf(before) != reflect.TypeOf(value) {
		return fmt.Errorf("section %q is a %T here, and a %T of another plugin", name, value, before)
	}
	r.to.Values[name] = value
	return nil
}
