package bolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
)

func TestUsage(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) store.Backend {
		s, err := bolt.Open(filepath.Join(t.TempDir(), "usage.db"), bolt.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	runtimetest.Options{Open: open}.Usage(t)
}
