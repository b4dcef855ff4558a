package limits

import (
	"fmt"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Catalog returns the built-in catalog of models, and over it what REVEILLE_MODEL_CATALOG
// gives: as JSON, or in a file. The error names the variable, the file if there is one, and
// what is wrong.
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

// given returns what a variable gives, as JSON or in a file, and where it is from; nil: it
// is empty.
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
