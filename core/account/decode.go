package account

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// DecodeLimits reads limits from JSON:
//
//	{"default": {"runs_a_day": 1000, "tokens_a_day": 2000000, "spend_a_day_usd": 5.5, "concurrent_runs": 8},
//	 "tenants": {"acme": {"concurrent_runs": 64}}}
//
// An unknown or repeated field, a value of another type and one out of range are
// core.CodeInvalid; the error says which, and what is allowed.
func DecodeLimits(data []byte) (Tenants, error) {
	var t Tenants
	if err := (strict.Options{NoNull: true}).Decode(data, &t); err != nil {
		return Tenants{}, core.Errorf(core.CodeInvalid, "limits: %w", err)
	}
	return t, t.Check()
}
