// Package keys gives functions the secrets that keys of providers and of webhooks are. It
// is a package of its own so that functions without any link none of it.
package keys

import (
	"context"
	"net/http"
	"sync"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/identity/secrets"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// timeout of one try, of which there are two: a run that is cancelled waits for them.
const timeout = 2 * time.Second

// Keys are the secrets of a function. The zero Keys has opened none. It is safe for
// concurrent use.
type Keys struct {
	mu     sync.Mutex
	reader *secrets.Reader // made when a secret is opened; nil: none was
}

// Settings are the function's, with the secrets that they may name. Clients are made when
// one is opened; nothing is read before an invocation.
func (k *Keys) Settings(c *cloud.Function) settings.Settings {
	s := c.Settings
	s.Secret = func(name string) (secret.Source, error) {
		r, err := k.open(c)
		if err != nil {
			return nil, err
		}
		return r.Source(name)
	}
	return s
}

func (k *Keys) open(c *cloud.Function) (*secrets.Reader, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader == nil {
		r, err := secrets.New(awsenv.Config{Timeout: timeout, MaxAttempts: 2}, secrets.Options{Now: c.Env.Now, Logger: c.Logger})
		if err != nil {
			return nil, err
		}
		k.reader = r
	}
	return k.reader, nil
}

// refresh is the reader's, if there is one.
func (k *Keys) refresh(ctx context.Context) (wait func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader == nil {
		return func() {}
	}
	return k.reader.Refresh(ctx)
}

// Invocation reads secrets that are missing or old while the handler begins: it claims
// and reads its thread meanwhile, and the model is called with what has come.
func Invocation[E, R any](k *Keys, handler func(context.Context, E) (R, error)) func(context.Context, E) (R, error) {
	return func(ctx context.Context, event E) (R, error) {
		defer k.refresh(ctx)()
		return handler(ctx, event)
	}
}

// Request is Invocation for requests. Those that cannot start a run read nothing.
func Request(k *Keys, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			defer k.refresh(r.Context())()
		}
		handler.ServeHTTP(w, r)
	})
}
