package threadlog_test

import (
	"errors"
	"math"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// The bounds of a log are read from a stored head; a corrupt one must not take
// the process's memory.
func TestReadOfAnAbsurdLengthIsCorrupt(t *testing.T) {
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
	if _, err := threadlog.Read(t.Context(), memory.New(), thread.Records{}, key, 1, math.MaxUint64-1); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Read returns the error %v, want ErrCorrupt", err)
	}
}

func TestReadOfNothingReadsNothing(t *testing.T) {
	for _, from := range []uint64{3, 4} {
		if entries, err := threadlog.Read(t.Context(), nil, thread.Records{}, core.ThreadKey{}, from, 2); entries != nil || err != nil {
			t.Errorf("from %d to 2: %v, %v", from, entries, err)
		}
	}
}

func TestReadRefusesWhatIsNoEntry(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 1, Payload: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	if _, err := threadlog.Read(t.Context(), s, thread.Records{}, key, 1, 1); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("Read returns the error %v of code %s, want corrupt", err, core.CodeOf(err))
	}
}

func TestReadOfANewerProgramIsASchemaError(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	newer := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}}
	payload, err := newer.EncodeEntry(&thread.Entry{Run: core.ID{1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if _, err := threadlog.Read(t.Context(), s, thread.Records{}, key, 1, 1); !errors.Is(err, thread.ErrSchema) {
		t.Errorf("Read of schema 3 by a program of schema 1 returns the error %v, want ErrSchema", err)
	}
	if entries, err := threadlog.Read(t.Context(), s, newer, key, 1, 1); err != nil || len(entries) != 1 {
		t.Errorf("Read of schema 3 by its own program returns %d entries, %v, want 1", len(entries), err)
	}
}

func TestReadFindsGaps(t *testing.T) {
	key, s := core.ThreadKey{Tenant: "acme", Thread: "t1"}, memory.New()
	for _, seq := range []uint64{1, 2, 3, 5} {
		payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: core.ID{1}, Step: int(seq)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := threadlog.Read(t.Context(), s, thread.Records{}, key, 1, 3)
	if err != nil || len(entries) != 3 || entries[0].Step != 1 || entries[2].Step != 3 {
		t.Errorf("Read(1, 3) with 1, 2, 3 and the orphan 5 stored returns %d entries, %v, want the entries 1, 2, 3", len(entries), err)
	}
	for _, to := range []uint64{4, 5, 6} {
		if _, err := threadlog.Read(t.Context(), s, thread.Records{}, key, 1, to); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Read(1, %d) with 4 and 6 missing returns the error %v, want ErrCorrupt", to, err)
		}
	}
}
