// Package keys gives functions their secrets: the keys of providers and of webhooks. It is
// separate, so that functions without secrets do not link it.
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

// timeout is the time of one of two attempts. A run that is cancelled waits for them.
const timeout = 2 * time.Second

// Keys are the secrets of a function. The zero Keys has opened no secret. It is safe for
// concurrent use.
type Keys struct {
	mu     sync.Mutex
	reader *secrets.Reader // made when the first secret is opened
}

// Settings returns the settings of the function, which can open secrets. The first secret
// that is opened makes the clients, and an invocation reads the secrets.
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

// refresh starts a refresh of the reader, if a secret was opened.
func (k *Keys) refresh(ctx context.Context) (wait func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader == nil {
		return func() {}
	}
	return k.reader.Refresh(ctx)
}

// Invocation returns a handler that reads missing and old secrets at its start, while the
// handler claims and reads its thread. The model is called with the secrets that have arrived.
func Invocation[E, R any](k *Keys, handler func(context.Context, E) (R, error)) func(context.Context, E) (R, error) {
	return func(ctx context.Context, event E) (R, error) {
		defer k.refresh(ctx)()
		return handler(ctx, event)
	}
}

// Request is [Invocation] for requests. A request that cannot start a run reads no secret.
func Request(k *Keys, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			defer k.refresh(r.Context())()
		}
		handler.ServeHTTP(w, r)
	})
}
