//go:build aws

package dynamo_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
)

func TestReleases(t *testing.T) {
	runtimetest.Options{
		Due: dynamo.DuePolicy(),
		Open: func(t *testing.T, now func() time.Time) store.Backend {
			c, table := client(t)
			return dynamo.New(c, dynamo.Options{Table: table, Now: now})
		},
	}.Releases(t)
}
