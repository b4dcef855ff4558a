package bolt

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// bbolt drops the pages that a purge empties when it commits; until then a cursor
// meets them. Read backwards they look like the beginning of the bucket, and a
// bucket that has no others makes bbolt's Cursor.Last run for ever.
func TestALogIsReadBackwardsOverEmptiedPages(t *testing.T) {
	tests := []struct {
		name        string
		log, inputs uint64 // records that stay, and records behind them that expire
	}{
		{"behind the log", 50, 300},
		{"and no others", 0, 300},
		{"at the beginning", 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				put := func(key core.ThreadKey, name string, expires int64) {
					t.Helper()
					if err := s.Put(t.Context(), key, store.Record{Name: name, Fence: 1, Payload: make([]byte, 500), Expires: expires}); err != nil {
						t.Fatal(err)
					}
				}
				soon := time.Now().Add(time.Minute).Unix()
				for n := range uint64(100) { // of a thread before
					put(core.ThreadKey{Tenant: "acme", Thread: "t0"}, store.LogName(n+1), soon)
				}
				for n := range tt.log {
					put(journalKey, store.LogName(n+1), 0)
				}
				for n := range tt.inputs {
					put(journalKey, "Q"+store.LogName(n + 1)[1:], soon)
				}
				if _, err := s.db.commit(); err != nil { // so that there are pages to empty
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if purged, err := s.Purge(t.Context(), 1000); purged != 100+int(tt.inputs) || err != nil {
					t.Fatalf("Purge returns %d, %v, want %d", purged, err, 100+tt.inputs)
				}
				want := tt.log
				for record, err := range s.LogBackwards(t.Context(), journalKey, 1, 1_000_000) {
					if err != nil || record.Name != store.LogName(want) {
						t.Fatalf("LogBackwards has %s, %v where %d belongs", record.Name, err, want)
					}
					want--
				}
				if want != 0 {
					t.Errorf("LogBackwards ends before record %d", want)
				}
			})
		})
	}
}
