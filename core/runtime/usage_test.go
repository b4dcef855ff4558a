package runtime_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/runtime/runtimetest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

func TestUsage(t *testing.T) {
	open := func(*testing.T, func() time.Time) store.Backend { return memory.New() }
	runtimetest.Options{Open: open}.Usage(t)
}
