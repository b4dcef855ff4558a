// Package limits reads what tenants may use from the settings. It is a package of its own
// because settings are read by programs that link nothing of the runtime.
package limits

import (
	"fmt"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core/limit"
	"github.com/reveille-run/reveille/functions/settings"
)

// Read returns the limits that REVEILLE_LIMITS gives: as JSON, or in a file. Empty: there
// are none. The error names the variable, the file if there is one, and what is wrong.
func Read(s settings.Settings) (limit.Tenants, error) {
	text := strings.TrimSpace(s.Limits)
	if text == "" {
		return limit.Tenants{}, nil
	}
	data, from := []byte(text), "environment variable REVEILLE_LIMITS"
	if !strings.HasPrefix(text, "{") {
		var err error
		if data, err = os.ReadFile(text); err != nil {
			return limit.Tenants{}, fmt.Errorf("%s: %w", from, err)
		}
		from += ": " + text
	}
	limits, err := limit.Decode(data)
	if err != nil {
		return limit.Tenants{}, fmt.Errorf("%s: %w", from, err)
	}
	return limits, nil
}
