package bolt_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
)

func TestReleases(t *testing.T) {
	runtimetest.Options{Open: func(t *testing.T, now func() time.Time) store.Backend {
		return open(t, newPath(t), bolt.Options{Now: now})
	}}.Releases(t)
}
