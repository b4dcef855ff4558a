//go:build !race

package checkpoint

import (
	"runtime"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// TestAColdReadAllocatesLittle counts what the first step of a process allocates for the log of
// a long chat: of each message its id and its text, and a share of what is allocated for many.
// The race detector allocates, too.
func TestAColdReadAllocatesLittle(t *testing.T) {
	const turns, most, mostBytes = 1000, 4450, 2_220_000 // messages: 2,000, of which each block has room for citations
	log := chats(t, turns)
	head := thread.Head{Seq: uint64(len(log))}
	r := New(Options{Env: env.System(), Store: log})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := r.Read(t.Context(), At{Key: cacheKey(1), Head: &head}, head.Seq)
	runtime.ReadMemStats(&after)
	if err != nil || c.Messages.Len() != 2*turns || c.Totals.Usage.Input != 20*(turns-1) {
		t.Fatalf("%v, %d messages, %+v", err, c.Messages.Len(), c.Totals)
	}
	objects, bytes := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	t.Logf("%d objects and %d bytes", objects, bytes)
	if objects > most || bytes > mostBytes {
		t.Errorf("2,000 messages take %d objects and %d bytes, at most %d and %d are wanted", objects, bytes, most, mostBytes)
	}
}
