package bolt_test

import (
	"flag"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var unsyncedHistories = flag.Int("linear.histories", 25, "histories of a store that does not sync")

func TestHistoriesAreLinearizable(t *testing.T) {
	t.Run("unsynced", func(t *testing.T) {
		storetest.Options{}.Linearizable(t, func(t *testing.T) store.Backend {
			bolt.WithoutDisk(t)
			s := open(t, newPath(t), bolt.Options{})
			bolt.Unsynced(s)
			return s
		}, *unsyncedHistories)
	})
	t.Run("synced", func(t *testing.T) {
		storetest.Options{}.Linearizable(t, func(t *testing.T) store.Backend { return open(t, newPath(t), bolt.Options{}) }, 25)
	})
}
