package bolt

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// What waits in memory for bbolt's next commit is bounded by the journal, not by
// how many writes there are: at worst each write concerns pages of its own.
func TestTheTransactionUnderWayTakesBoundedMemory(t *testing.T) {
	withoutDisk(t)
	const most = 24 << 20
	tests := []struct {
		name            string
		threads, writes int
		size            int
	}{
		{"small writes all over the file", 10_000, 5000, 100},
		{"payloads of nearly a journal", 10, 20, journalSize - 1000},
		{"payloads that do not fit", 10, 20, journalSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			s.db.db.NoSync, s.db.journal.file = true, unsynced{s.db.journal.file}
			versions := make([]uint64, tt.threads)
			write := func(i, size int) {
				thread := i * 7919 % tt.threads // a prime: neighbours in time are none in the file
				versions[thread]++
				key := core.ThreadKey{Tenant: "acme", Thread: fmt.Sprintf("t%06d", thread)}
				if err := writeVersion(t, s, key, versions[thread], size); err != nil {
					t.Fatal(err)
				}
			}
			for i := range tt.threads {
				write(i, 2000)
			}
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			worst := int64(0)
			for i := range tt.writes {
				if write(i, tt.size); i%(tt.writes/20) == 0 {
					runtime.GC()
					runtime.ReadMemStats(&now)
					worst = max(worst, int64(now.HeapAlloc)-int64(before.HeapAlloc))
				}
			}
			if worst > most {
				t.Errorf("the store takes %d MB more, want at most %d", worst>>20, most>>20)
			}
		})
	}
}
