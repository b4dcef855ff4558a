package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Setting is a section of an agent's spec with its value. [Section.Setting] makes one of a
// value, and [Sections] puts several into a spec.
type Setting struct {
	Name string
	// Value is the section's JSON. A value that the section would refuse is carried as
	// text that is not JSON: see [Setting.Check].
	Value json.RawMessage
}

// unsound is the prefix of a Value that holds an error in place of JSON, which never has
// it.
const unsound = "\x00"

// Setting returns the section with a value, for a spec that is written in Go:
//
//	Sections: plugin.Sections(limits.Setting(Limits{PerDay: 3}))
//
// A value that [Section.Read] would refuse, or would not read as the same value, makes a
// setting that [Setting.Check], host.New and Read refuse with the reason.
func (s Section[C]) Setting(value C) Setting {
	text, err := s.encode(value)
	if err != nil {
		return broken(s.Name, err)
	}
	return Setting{Name: s.Name, Value: text}
}

func (s Section[C]) encode(value C) (json.RawMessage, error) {
	if s.Name == "" {
		return nil, errors.New("section has no name")
	}
	text, err := core.EncodeJSON(value)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return nil, errors.New("value is nil, want one that JSON can express")
	}
	read, err := s.decode(text)
	if err != nil {
		return nil, err
	}
	again, err := core.EncodeJSON(read)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, again) {
		return nil, fmt.Errorf("value %s reads as %s: a member that JSON omits has the section's default", core.Excerpt(string(text)), core.Excerpt(string(again)))
	}
	return text, nil
}

func broken(name string, err error) Setting {
	return Setting{Name: name, Value: json.RawMessage(unsound + err.Error())}
}

// Check returns the reason why the value of [Section.Setting] is invalid for the section;
// nil if it is valid.
func (s Setting) Check() error {
	if text, ok := strings.CutPrefix(string(s.Value), unsound); ok {
		return core.Errorf(core.CodeInvalid, "%s", text)
	}
	return nil
}

// Sections returns the settings as the sections of an agent's spec. A section that occurs
// twice makes the spec invalid: [Setting.Check] of it returns an error.
func Sections(settings ...Setting) map[string]json.RawMessage {
	sections := make(map[string]json.RawMessage, len(settings))
	for _, s := range settings {
		if _, exists := sections[s.Name]; exists {
			s = broken(s.Name, errors.New("section is given twice"))
		}
		sections[s.Name] = s.Value
	}
	return sections
}
