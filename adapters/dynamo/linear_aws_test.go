//go:build aws

package dynamo_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

func TestHistoriesAreLinearizable(t *testing.T) {
	storetest.Linearizable(t, func(t *testing.T) store.Backend {
		c, table := client(t)
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, c)})
	}, 20)
}
