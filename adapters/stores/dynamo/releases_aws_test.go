//go:build aws

package dynamo_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core/host/hosttest"
	"github.com/reveille-run/reveille/core/store"
)

var suites = hosttest.Options{
	Open: func(t *testing.T, now func() time.Time) store.Backend {
		c, table := client(t)
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, c), Now: now})
	},
}

func TestReleases(t *testing.T)       { suites.Releases(t) }
func TestLacking(t *testing.T)        { suites.Lacking(t) }
func TestSuperseded(t *testing.T)     { suites.Superseded(t) }
func TestSupersededPage(t *testing.T) { suites.SupersededPage(t) }
func TestFork(t *testing.T)           { suites.Fork(t) }
func TestVisibleEarly(t *testing.T)   { suites.VisibleEarly(t) }
func TestDecisions(t *testing.T)      { suites.Decisions(t) }

func TestUsage(t *testing.T) { suites.Usage(t) }
