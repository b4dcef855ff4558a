package limits

import (
	"fmt"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Catalog returns the built-in catalog of models with the entries of
// REVEILLE_MODEL_CATALOG, which is JSON or a file. An entry replaces the built-in entry of
// the same model. The error names the variable, the file and the mistake.
func Catalog(s settings.Settings) (*catalog.Catalog, error) {
	known := catalog.Default()
	data, from, err := given("REVEILLE_MODEL_CATALOG", s.Catalog)
	if err != nil || data == nil {
		return known, err
	}
	if known, err = known.With(data); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return known, nil
}

// given returns the JSON of a variable, or of the file that it names, and its source. The
// data is nil if the variable is empty.
func given(variable, value string) (data []byte, from string, err error) {
	text, from := strings.TrimSpace(value), "environment variable "+variable
	if text == "" {
		return nil, from, nil
	}
	if strings.HasPrefix(text, "{") {
		return []byte(text), from, nil
	}
	if data, err = os.ReadFile(text); err != nil {
		return nil, from, fmt.Errorf("%s: %w", from, err)
	}
	return data, from + ": " + text, nil
}
