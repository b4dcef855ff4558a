package rules

import (
	"errors"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// maxFile is the most bytes of a file of triggers.
const maxFile = 1 << 20

// parseFile reads triggers from JSON: {"triggers": [...]}, each an object whose keys are
// the fields of [trigger] in lower case. An unknown key, a repeated key and a value of
// another type are errors with the name, such as the file's, the line and the column,
// both from 1. [New] checks the values.
func parseFile(name string, data []byte) ([]trigger, error) {
	var file struct {
		Triggers []trigger `json:"triggers"`
	}
	err := strict.Options{Name: "file", MaxBytes: maxFile, NoNull: true, Required: true, Raw: true}.Decode(data, &file)
	if wrong, ok := errors.AsType[*strict.Error](err); ok {
		line, column := wrong.Line(data)
		return nil, core.Errorf(core.CodeInvalid, "%s:%d:%d: %w", name, line, column, err)
	}
	return file.Triggers, err
}

// readSetting reads the triggers of a setting: the name of a file, or the JSON itself,
// which starts with a brace. Empty: no triggers.
func readSetting(setting string) ([]trigger, error) {
	switch {
	case setting == "":
		return nil, nil
	case strings.HasPrefix(strings.TrimSpace(setting), "{"):
		return parseFile("REVEILLE_TRIGGERS", []byte(setting))
	}
	data, err := os.ReadFile(setting)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "REVEILLE_TRIGGERS: %w", err)
	}
	return parseFile(setting, data)
}
