// Package keys gives the functions that run models the secrets that keys of providers
// are. It is a package of its own so that the others link none of it.
package keys

import (
	"sync"
	"time"

	"github.com/reveille-run/reveille/adapters/awsenv"
	"github.com/reveille-run/reveille/adapters/secrets"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/serve/cloud"
	"github.com/reveille-run/reveille/functions/settings"
)

// timeout of one try, of which there are two: a run that is cancelled waits for them.
const timeout = 2 * time.Second

// Open returns the function's settings with the secrets that they may name. Clients are
// made when one is opened; nothing is read before it is used.
func Open(c *cloud.Function) settings.Settings {
	reader := sync.OnceValues(func() (*secrets.Reader, error) {
		return secrets.New(awsenv.Config{Timeout: timeout, MaxAttempts: 2}, secrets.Options{Now: c.Env.Now, Logger: c.Logger})
	})
	s := c.Settings
	s.Secret = func(name string) (secret.Source, error) {
		r, err := reader()
		if err != nil {
			return nil, err
		}
		return r.Source(name)
	}
	return s
}
