package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/host/hosttest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// suites are what a runtime must do on any backend, here on memory.
var suites = hosttest.Options{Open: func(*testing.T, func() time.Time) store.Backend { return memory.New() }}

func TestReleases(t *testing.T)       { suites.Releases(t) }
func TestLacking(t *testing.T)        { suites.Lacking(t) }
func TestSuperseded(t *testing.T)     { suites.Superseded(t) }
func TestSupersededPage(t *testing.T) { suites.SupersededPage(t) }
func TestFork(t *testing.T)           { suites.Fork(t) }
func TestVisibleEarly(t *testing.T)   { suites.VisibleEarly(t) }
func TestDecisions(t *testing.T)      { suites.Decisions(t) }
func TestUsage(t *testing.T)          { suites.Usage(t) }

// The clock of a suite's programs stands still while they work: the time that a backend takes
// is not theirs, and a busy machine ends no call of theirs.
func TestSuitesOnASlowBackend(t *testing.T) {
	slow := hosttest.Options{Open: func(*testing.T, func() time.Time) store.Backend {
		return &storetest.Faulty{Backend: memory.New(), Around: func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
			time.Sleep(20 * time.Second)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(ctx)
		}}
	}}
	synctest.Test(t, slow.Superseded)
	synctest.Test(t, slow.Fork)
}
