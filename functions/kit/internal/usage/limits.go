package usage

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Limit gives a runtime the limits of tenants in the settings, and the prices of models if
// there is a spend limit.
func Limit(c *host.Options, s settings.Settings) error {
	read, err := limits.Read(s)
	if err != nil {
		return err
	}
	c.Limits = read
	if !read.Spends() {
		return nil
	}
	c.Prices, err = prices(s)
	return err
}

// prices returns the prices in the settings.
func prices(s settings.Settings) (func(string, string, core.Usage, time.Time) (core.USD, bool), error) {
	all, err := limits.Catalog(s)
	if err != nil {
		return nil, err
	}
	return all.Cost, nil
}
