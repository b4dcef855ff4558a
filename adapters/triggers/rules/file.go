package rules

import (
	"errors"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// MaxFile is the most bytes of a file of triggers.
const MaxFile = 1 << 20

// Parse reads triggers from JSON: {"triggers": [...]}, each an object whose keys are
// the fields of [Trigger] in lower case. An unknown key, one that is given twice and a
// value of another type are errors with the name, such as the file's, the line and the
// column, both from 1. What the triggers must be is checked by [New].
func Parse(name string, data []byte) ([]Trigger, error) {
	var file struct {
		Triggers []Trigger `json:"triggers"`
	}
	err := strict.Options{Name: "file", MaxBytes: MaxFile, NoNull: true, Required: true, Raw: true}.Decode(data, &file)
	if wrong, ok := errors.AsType[*strict.Error](err); ok {
		line, column := wrong.Line(data)
		return nil, core.Errorf(core.CodeInvalid, "%s:%d:%d: %w", name, line, column, err)
	}
	return file.Triggers, err
}

// Read reads the triggers that a setting names: a file, or the JSON itself, which
// begins with a brace. Empty: there are none.
func Read(setting string) ([]Trigger, error) {
	switch {
	case setting == "":
		return nil, nil
	case strings.HasPrefix(strings.TrimSpace(setting), "{"):
		return Parse("REVEILLE_TRIGGERS", []byte(setting))
	}
	data, err := os.ReadFile(setting)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "REVEILLE_TRIGGERS: %w", err)
	}
	return Parse(setting, data)
}
