package bolt_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
)

var runtimes = runtimetest.Options{Open: func(t *testing.T, now func() time.Time) store.Backend {
	return open(t, newPath(t), bolt.Options{Now: now})
}}

func TestReleases(t *testing.T) { runtimes.Releases(t) }

func TestVisibleEarly(t *testing.T) { runtimes.VisibleEarly(t) }

func TestDecisions(t *testing.T) { runtimes.Decisions(t) }
