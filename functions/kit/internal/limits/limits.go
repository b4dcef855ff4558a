// Package limits reads from the settings what tenants may use and what is known of models. It is
// a package of its own because settings are read by programs that link nothing of the
// runtime.
package limits

import (
	"fmt"

	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Read returns the limits that REVEILLE_LIMITS gives: as JSON, or in a file. Empty: there
// are none. The error names the variable, the file if there is one, and what is wrong.
func Read(s settings.Settings) (account.Tenants, error) {
	data, from, err := given("REVEILLE_LIMITS", s.Limits)
	if err != nil || data == nil {
		return account.Tenants{}, err
	}
	var limits account.Tenants
	if err := limits.Decode(data); err != nil {
		return account.Tenants{}, fmt.Errorf("%s: %w", from, err)
	}
	return limits, nil
}
