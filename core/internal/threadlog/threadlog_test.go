package threadlog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// logOf is a thread with so many log records, of which each names a step.
func logOf(t *testing.T, n int) (*storetest.Faulty, core.ThreadKey) {
	t.Helper()
	s, key := &storetest.Faulty{Backend: memory.New()}, core.ThreadKey{Tenant: "acme", Thread: "t1"}
	for seq := 1; seq <= n; seq++ {
		payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Step: seq})
		if err == nil {
			err = s.Put(t.Context(), key, store.Record{Name: store.LogName(uint64(seq)), Fence: 1, Payload: payload})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, key
}

// told is what ranging over entries yields: steps, and errors, which the caller passes over.
func told(entries iter.Seq2[threadlog.Entry, error], most int) string {
	var b strings.Builder
	for e, err := range entries {
		if err != nil {
			fmt.Fprintf(&b, " (%v)", err)
		} else {
			fmt.Fprintf(&b, " %d:%d", e.Seq, e.Step)
		}
		if most--; most == 0 {
			break
		}
	}
	return b.String()
}

func TestEntriesEndWithTheirFirstError(t *testing.T) {
	reset := errors.New("connection reset")
	fails := func(s *storetest.Faulty) { // every second record cannot be read
		broken := func(log iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				n := 0
				for r, err := range log {
					if n++; n%2 == 0 {
						r, err = store.Record{}, reset
					}
					if !yield(r, err) {
						return
					}
				}
			}
		}
		s.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return broken(s.Backend.Log(ctx, key, from, to))
		}
		s.OnLogBackwards = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return broken(s.Backend.LogBackwards(ctx, key, from, to))
		}
	}
	nothing := func(*storetest.Faulty) {}
	tests := []struct {
		name                string
		records             int
		from, to            uint64
		most                int
		change              func(*storetest.Faulty)
		forwards, backwards string
	}{
		{"all", 3, 1, 3, 9, nothing, " 1:1 2:2 3:3", " 3:3 2:2 1:1"},
		{"one", 3, 2, 2, 9, nothing, " 2:2", " 2:2"},
		{"none", 3, 3, 2, 9, nothing, "", ""},
		{"less than none", 3, 3, 1, 9, nothing, "", ""},
		{"the caller stops", 3, 1, 3, 2, nothing, " 1:1 2:2", " 3:3 2:2"},
		{"the log is shorter", 2, 1, 4, 9, nothing, " 1:1 2:2 (log of acme/t1 ends at 2, the head says 4: stored data is corrupt)",
			" (log of acme/t1: found M#000000000002 where sequence 4 belongs: stored data is corrupt)"},
		{"the log begins too early", 3, 0, 2, 9, nothing, " (log of acme/t1: found M#000000000001 where sequence 0 belongs: stored data is corrupt)",
			" 2:2 1:1 (log of acme/t1 begins at 1, and not at 0: stored data is corrupt)"},
		{"a read fails", 5, 1, 5, 9, fails, " 1:1 (read log of acme/t1: connection reset)", " 5:5 (read log of acme/t1: connection reset)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, key := logOf(t, tt.records)
			tt.change(s)
			if got := told(threadlog.Entries(t.Context(), s, thread.Records{}, key, tt.from, tt.to), tt.most); got != tt.forwards {
				t.Errorf("forwards:%s, want%s", got, tt.forwards)
			}
			if got := told(threadlog.EntriesBackwards(t.Context(), s, thread.Records{}, key, tt.from, tt.to), tt.most); got != tt.backwards {
				t.Errorf("backwards:%s, want%s", got, tt.backwards)
			}
		})
	}
}

// A log may lack its first record, or hold what is none.
func TestEntriesOfALogThatIsNone(t *testing.T) {
	s, key := logOf(t, 4)
	check := func(from, to uint64, forwards, backwards string) {
		t.Helper()
		if got := told(threadlog.Entries(t.Context(), s, thread.Records{}, key, from, to), 9); got != forwards {
			t.Errorf("forwards:%s, want%s", got, forwards)
		}
		if got := told(threadlog.EntriesBackwards(t.Context(), s, thread.Records{}, key, from, to), 9); got != backwards {
			t.Errorf("backwards:%s, want%s", got, backwards)
		}
	}
	s.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		return s.Backend.Log(ctx, key, from+1, to)
	}
	s.OnLogBackwards = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		return s.Backend.LogBackwards(ctx, key, from+1, to)
	}
	check(2, 4, " (log of acme/t1: found M#000000000003 where sequence 2 belongs: stored data is corrupt)",
		" 4:4 3:3 (log of acme/t1 begins at 3, and not at 2: stored data is corrupt)")
	s.OnLog = func(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error] {
		return func(yield func(store.Record, error) bool) {
			yield(store.Record{Name: "Z#0", Payload: []byte("{}")}, nil)
		}
	}
	s.OnLogBackwards = s.OnLog
	const other = " (log of acme/t1: found Z#0 where sequence 0 belongs: stored data is corrupt)"
	check(0, 0, other, other)
}

// The size of an entry is that of its record, in bytes.
func TestEntriesHaveTheSizeOfTheirJSON(t *testing.T) {
	s, key := logOf(t, 1)
	for e, err := range threadlog.Entries(t.Context(), s, thread.Records{}, key, 1, 1) {
		if want := len(`{"run":"","step":1}`); err != nil || e.JSONSize() != want {
			t.Errorf("size %d, %v; want %d", e.JSONSize(), err, want)
		}
	}
}
