package sim

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A thread has three turns, at 2, 4 and 6, a summary up to each, and a run that takes its end
// back with the record at 7. Only the summary that the range leaves in force is right, or a
// new one that follows it.
func TestTheSummaryBehindASupersededRange(t *testing.T) {
	tests := []struct {
		name         string
		before       map[uint64]uint64 // each summary, and the one that it follows
		from         uint64            // of the range; 0: nothing is superseded
		stood, after uint64            // in force before the write, and after it
		want         string
	}{
		{"stays", map[uint64]uint64{2: 0, 4: 2}, 5, 4, 4, ""},
		{"gives way to the one before", map[uint64]uint64{2: 0, 4: 2}, 3, 4, 2, ""},
		{"gives way to none", map[uint64]uint64{4: 0}, 3, 4, 0, ""},
		{"gives way, and a new one follows the one before", map[uint64]uint64{2: 0, 4: 2, 6: 2}, 5, 6, 4, ""},
		{"gives way, and a new one is the first", map[uint64]uint64{2: 0, 6: 0}, 3, 6, 2, ""},
		{"a new one behind the one that stays", map[uint64]uint64{2: 0, 4: 2}, 5, 2, 4, ""},
		{"is forgotten", map[uint64]uint64{2: 0, 4: 2}, 3, 4, 0,
			"at 0s: thread t0: after a superseded range the summary up to 0 is in force, want 2 or a new one that follows it"},
		{"falls too far", map[uint64]uint64{2: 0, 4: 2, 6: 4}, 5, 6, 2,
			"at 0s: thread t0: after a superseded range the summary up to 2 is in force, want 4 or a new one that follows it"},
		{"covers what was superseded", map[uint64]uint64{2: 0, 4: 2}, 3, 4, 4,
			"at 0s: thread t0: the summary up to 4 does not end with a closed, visible turn"},
		{"a new one follows another", map[uint64]uint64{2: 0, 4: 0, 6: 2}, 5, 6, 4,
			"at 0s: thread t0: the summary up to 4 follows that up to 0, in force was that up to 2"},
		{"a new one follows what was superseded", map[uint64]uint64{2: 0, 4: 2, 6: 0}, 5, 6, 4,
			"at 0s: thread t0: the summary up to 4 follows that up to 2, in force was that up to 0"},
		{"falls without a range", map[uint64]uint64{2: 0, 4: 2}, 0, 4, 2,
			"at 0s: thread t0: the summary in force falls from 4 to 2, although nothing was superseded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1})
			lo := &w.threads[0].logged
			a := thread.Head{Version: 1, Seq: 6, Summary: tt.stood}
			for n := range uint64(3) {
				lo.entries = append(lo.entries, thread.Entry{Message: new(core.UserMessage("question"))}, thread.Entry{Message: &core.Message{Role: core.RoleAssistant}})
				lo.visible = append(lo.visible, shown{seq: 2*n + 1}, shown{seq: 2*n + 2})
			}
			for upTo, predecessor := range tt.before {
				s := thread.Summary{Predecessor: predecessor, Text: lo.printsOf(lo.visible, upTo)}
				payload, err := w.checks.EncodeSummary(upTo, &s)
				if err != nil {
					t.Fatal(err)
				}
				lo.th.p.keep(store.Record{Name: recordname.Summary(upTo), Payload: payload}, 0)
			}
			b := a
			b.Version, b.Seq, b.Summary = 2, 7, tt.after
			if tt.from > 0 {
				b.Supersedes = 7
				lo.entries = append(lo.entries, thread.Entry{Superseded: &thread.Range{From: tt.from, To: 6}})
				lo.visible = lo.visible[:tt.from-1]
			}
			lo.checkSummary(&a, &b)
			if w.violation != tt.want {
				t.Errorf("%q, want %q", w.violation, tt.want)
			}
		})
	}
}
