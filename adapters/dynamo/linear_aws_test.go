//go:build aws

package dynamo_test

import (
	"flag"
	"testing"

	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var histories = flag.Int("linear.histories", 20, "histories to check")

func TestHistoriesAreLinearizable(t *testing.T) {
	storetest.Linearizable(t, func(t *testing.T) store.Backend {
		c, table := client(t)
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, c)})
	}, *histories)
}
