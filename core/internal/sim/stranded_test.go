package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The run of the first thread has been due for minutes. If it has lost more than one claim, it
// waits for a suspect of its process that has made no progress, and behind one that has waited
// for ten seconds.
func TestRunsThatStandBehindSuspects(t *testing.T) {
	const now = 10 * time.Minute
	suspect := func(fence uint64, attempts uint8) thread.Head {
		return thread.Head{Run: thread.Run{ID: core.ID{2}, Attempts: attempts}, Claim: thread.Claim{Fence: fence}}
	}
	free := suspect(7, 1)
	tests := []struct {
		name      string
		processes Processes
		lost      uint8
		other     thread.Head
		proved    bool          // it has stored a result
		waits     time.Duration // how long the other has waited
		later     *thread.Head  // the other after three seconds; nil: as before
		taken     bool          // within these the run was claimed
		stranded  time.Duration // when it is found; 0: never
	}{
		{"a suspect runs", Processes{Local: true}, 2, suspect(7, 3), false, 0, nil, false, 0},
		{"a suspect begins to run", Processes{Local: true}, 2, free, false, 0, new(suspect(7, 3)), false, 0},
		{"a suspect has run", Processes{Local: true}, 2, suspect(7, 3), false, 0, &free, false, 0}, // the next sweep looks
		{"it was about to be claimed", Processes{Local: true}, 2, free, false, 0, nil, true, 0},
		{"no suspect runs", Processes{Local: true}, 2, free, false, 0, nil, false, now + 3*time.Second},
		{"a suspect has progress", Processes{Local: true}, 2, suspect(7, 0), false, 0, nil, false, now + 3*time.Second},
		{"a suspect has a result", Processes{Local: true}, 2, suspect(7, 3), true, 0, nil, false, now + 3*time.Second},
		{"a suspect waits", Processes{Local: true}, 2, suspect(0, 2), false, 10 * time.Second, nil, false, 0},
		{"a suspect begins to wait", Processes{Local: true}, 2, suspect(0, 2), false, 5 * time.Second, nil, false, now + 3*time.Second},
		{"one that is no suspect waits", Processes{Local: true}, 2, suspect(0, 1), false, 10 * time.Second, nil, false, now + 3*time.Second},
		{"it has lost one claim", Processes{Local: true}, 1, suspect(7, 3), false, 0, nil, false, now},
		{"there are other processes", Processes{}, 2, suspect(7, 3), false, 0, nil, false, now},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 2, Processes: tt.processes})
			w.now, w.events = now, nil
			p, other := w.threads[0].p, w.threads[1].p
			p.head = thread.Head{Version: 9, Run: thread.Run{ID: core.ID{1}, Lost: tt.lost}, DueAt: epoch.UnixMilli()}
			w.stop = 0
			set := func(h thread.Head) {
				other.head, other.changed = h, now-tt.waits
				other.head.DueAt = epoch.Add(other.changed).UnixMilli()
				other.state.runs.beginAlone(&h)
			}
			set(tt.other)
			other.state.runs.alone.proved = tt.proved
			w.auditor.lookForStranded()
			if tt.later != nil {
				set(*tt.later)
			}
			if tt.taken {
				p.head.Version++
			}
			for len(w.events) > 0 {
				e := w.events.pop()
				w.now = e.at
				e.run()
			}
			want := ""
			if tt.stranded > 0 {
				want = "at " + tt.stranded.String() + ": thread t0: it has been due for 600 s and no process has claimed it: "
			}
			if !strings.HasPrefix(w.violation, want) || (w.violation == "") != (want == "") {
				t.Errorf("%q, want %q", w.violation, want)
			}
		})
	}
}
