//go:build !race

package bolt_test

import (
	"runtime"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/store"
)

// A long log that is read backwards takes one object for the name of each record, copies of
// the payloads that share memory, and memory for one part of the records. The race detector
// allocates, too.
func TestALongLogAllocatesLittle(t *testing.T) {
	bolt.WithoutDisk(t)
	const records, payload, mostObjects, mostBytes = 2000, 200, 2250, 520_000
	s := open(t, newPath(t), bolt.Options{})
	c := store.Commit{Head: store.Head{Version: 1}}
	for seq := range uint64(records) {
		c.Records = append(c.Records, store.Record{Name: store.LogName(seq + 1), Fence: 1, Payload: make([]byte, payload)})
	}
	commit(t, s, key, c)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for _, err := range s.LogBackwards(t.Context(), key, 1, records) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	runtime.ReadMemStats(&after)
	objects, bytes := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	t.Logf("%d objects and %d bytes", objects, bytes)
	if n != records || objects > mostObjects || bytes > mostBytes {
		t.Errorf("%d records take %d objects and %d bytes, at most %d and %d are wanted", n, objects, bytes, mostObjects, mostBytes)
	}
}
