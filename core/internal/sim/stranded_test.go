package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The run of the first thread has been due for minutes, and is no suspect. If it has lost more than one claim, it
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
		waits     time.Duration // how long the other has waited, or has been claimed
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
		{"it has lost one claim", Processes{Local: true}, 1, suspect(7, 3), false, 10 * time.Second, nil, false, now + 3*time.Second},
		{"it has lost one claim, and a suspect has just begun", Processes{Local: true}, 1, suspect(7, 3), false, 10*time.Second - 1, nil, false, 0},
		{"it has lost one claim, and a suspect waits", Processes{Local: true}, 1, suspect(0, 2), false, 10 * time.Second, nil, false, 0},
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
				other.head, other.changed, other.state.runs.claimed = h, now-tt.waits, now-tt.waits
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

// A suspect has been due since the faults were over, for more than two sweeps. It waits for each
// suspect that was claimed before it, also once that one has made progress, for runs that were
// claimed before it had waited for ten seconds, and for a process.
func TestSuspectsThatWaitForTheirTurn(t *testing.T) {
	const now = faultsLast + 131*time.Second
	tests := []struct {
		name     string
		began    time.Duration // the process
		hands    time.Duration // when a worker got its hint; 0: none has
		attempts uint8         // of the other, with its claim
		claimed  time.Duration // the other; 0: it is not
		over     bool          // the other, three seconds later
		stranded time.Duration // when it is found; 0: never
	}{
		{"nothing runs", 0, 0, 0, 0, false, now + 3*time.Second},
		{"a suspect runs", 0, faultsLast, 3, now - time.Second, false, 0},
		{"a suspect has run", 0, faultsLast, 3, now - time.Second, true, 0},
		{"another run was claimed first", 0, faultsLast, 2, faultsLast + 11*time.Second, false, 0},
		{"another run was claimed later", 0, faultsLast, 2, faultsLast + 11*time.Second + 1, false, now + 3*time.Second},
		{"another run was claimed before its hint came", 0, now - 20*time.Second, 2, now - 9*time.Second, false, 0},
		{"another run was claimed after its hint came", 0, now - 20*time.Second, 2, now - 9*time.Second + 1, false, now + 3*time.Second},
		{"another run was claimed first, and no hint came", 0, 0, 2, faultsLast + 11*time.Second, false, 0},
		{"another run was claimed later, and no hint came", 0, 0, 2, faultsLast + 11*time.Second + 1, false, now + 3*time.Second},
		{"there was no process", faultsLast + time.Second, 0, 0, 0, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 2, Processes: Processes{Local: true}})
			w.events = nil
			p, other := w.threads[0].p, w.threads[1].p
			p.head = thread.Head{Version: 9, Run: thread.Run{ID: core.ID{1}, Attempts: 2, Lost: 2}, DueAt: epoch.UnixMilli()}
			w.now = tt.began
			w.auditor.startTurns()
			if w.now = tt.hands; tt.hands > 0 {
				w.threads[0].works(core.WakeUp{})
			}
			if w.now = tt.claimed; tt.claimed > 0 {
				b := thread.Head{Run: thread.Run{ID: core.ID{2}, Attempts: tt.attempts}, Claim: thread.Claim{Fence: 7}}
				other.state.runs.beginAlone(&b)
				b.Run.Attempts = 0 // progress
				other.head, other.state.runs.claimed = b, tt.claimed
			}
			w.now = now
			w.auditor.lookForStranded()
			if tt.over {
				other.head.Claim = thread.Claim{}
				p.head.Version++
			}
			for len(w.events) > 0 {
				e := w.events.pop()
				w.now = e.at
				e.run()
			}
			want := ""
			if tt.stranded > 0 {
				want = "at " + tt.stranded.String() + ": thread t0: it has been due for 131 s and no process has claimed it: "
			}
			if !strings.HasPrefix(w.violation, want) || (w.violation == "") != (want == "") {
				t.Errorf("%q, want %q", w.violation, want)
			}
		})
	}
}
