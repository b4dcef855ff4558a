// Package usage configures a host by the settings: the limits of tenants and the records of
// usage.
package usage

import (
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Metering returns how usage is recorded, with the prices of models, or nil if the settings
// turn it off.
func Metering(s settings.Settings) (*host.Metering, error) {
	if s.UsageKeep == 0 {
		return nil, nil
	}
	models, err := limits.Catalog(s)
	if err != nil {
		return nil, err
	}
	return &host.Metering{Keep: s.UsageKeep, Models: models}, nil
}
