package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core/limit"
)

// TenantLimits reads the limits of tenants that REVEILLE_LIMITS gives: as JSON, or in a
// file. Empty: there are none.
func (s Settings) TenantLimits() (limit.Tenants, error) {
	text := strings.TrimSpace(s.Limits)
	if text == "" {
		return limit.Tenants{}, nil
	}
	data := []byte(text)
	if !strings.HasPrefix(text, "{") {
		var err error
		if data, err = os.ReadFile(text); err != nil {
			return limit.Tenants{}, fmt.Errorf("environment variable REVEILLE_LIMITS: %w", err)
		}
	}
	limits, err := limit.Decode(data)
	if err != nil {
		return limit.Tenants{}, fmt.Errorf("environment variable REVEILLE_LIMITS: %w", err)
	}
	return limits, nil
}
