// Package usage gives a host what the settings say of the limits of tenants, and of
// recording what runs use.
package usage

import (
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Metering is what the settings say of recording what runs use, with what models cost;
// nil: nothing is recorded.
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
