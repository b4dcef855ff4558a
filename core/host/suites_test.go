package host_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/host/hosttest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
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
