// Package limits reads the limits of tenants and the catalog of models from the settings. It
// is separate, because programs that do not link the runtime read settings too.
package limits

import (
	"fmt"

	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Read returns the limits of REVEILLE_LIMITS, which is JSON or a file. It returns no limits
// if the variable is empty. The error names the variable, the file and the mistake.
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
