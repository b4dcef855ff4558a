package runtimetest_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

func TestReleases(t *testing.T) {
	runtimetest.Options{Open: func(*testing.T, func() time.Time) store.Backend { return memory.New() }}.Releases(t)
}
