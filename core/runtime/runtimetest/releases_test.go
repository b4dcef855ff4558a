package runtimetest_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

var options = runtimetest.Options{Open: func(*testing.T, func() time.Time) store.Backend { return memory.New() }}

func TestReleases(t *testing.T)       { options.Releases(t) }
func TestLacking(t *testing.T)        { options.Lacking(t) }
func TestSuperseded(t *testing.T)     { options.Superseded(t) }
func TestSupersededPage(t *testing.T) { options.SupersededPage(t) }
func TestFork(t *testing.T)           { options.Fork(t) }
func TestVisibleEarly(t *testing.T)   { options.VisibleEarly(t) }
func TestDecisions(t *testing.T)      { options.Decisions(t) }
