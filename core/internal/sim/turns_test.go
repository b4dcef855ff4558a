package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Two runs are suspects, and the second is claimed. It may be claimed first if the first came
// later, or is not known to have been in the line of this process for a second before the second
// can have joined it.
func TestSuspectsStartInTheOrderInWhichTheyCame(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name      string
		due       time.Duration // the first, after the faults; it is one for a minute
		hint      time.Duration // when a worker has its hint
		done      time.Duration // when that is done; 0: later
		came      time.Duration // when the second becomes a suspect
		begins    time.Duration // a new process; 0: none does
		faults    float64
		overtakes bool
	}{
		{"it came later", 0, 0, 0, s + 1, 0, 0.01, true},
		{"it came soon after", 0, 0, 0, s, 0, 0.01, false},
		{"it came before the hint of the first", 0, 5 * s, 0, 6 * s, 0, 0.01, false},
		{"it came after the hint of the first", 0, 5 * s, 0, 6*s + 1, 0, 0.01, true},
		{"the first had a hint", 0, 0, 15 * s, 10 * s, 0, 0.01, false},
		{"the first was not due", s, 0, 0, 10 * s, 0, 0.01, false},
		{"there were faults", -20 * s, -20 * s, 0, -10 * s, 0, 0.01, false},
		{"the process of the hint is gone", 0, 0, 0, 10 * s, 15 * s, 0.01, false},
		{"it came when the process began", 0, 5 * s, 0, -s, s, 0.01, false},
		{"there were none", -20 * s, -20 * s, 0, -10 * s, 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLine(true)
			l.w.config.Faults = tt.faults
			l.at(-time.Minute, func() { l.write(0, 2, 0, tt.due) })
			done := func() {}
			l.at(tt.hint, func() { done = l.w.threads[0].works(core.WakeUp{}) })
			l.at(tt.came, func() { l.write(1, 2, 0, tt.came) })
			if tt.done > 0 {
				l.at(tt.done, func() { done() })
			}
			if tt.begins > 0 {
				l.at(tt.begins, l.w.auditor.startTurns)
			}
			l.at(19*s, func() { l.w.threads[1].works(core.WakeUp{}) })
			l.at(20*s, func() { l.write(1, 2, 1, tt.came) })
			l.want(t, tt.overtakes)
		})
	}
}

// Only the claim of a suspect overtakes another, and only in a local host.
func TestWhatOvertakesNoSuspect(t *testing.T) {
	tests := []struct {
		name      string
		local     bool
		kind      string // of the hint of the first
		attempts  uint8  // of the second, before its claim
		fence     uint64 // of its claim; 0: it is not claimed
		overtakes bool
	}{
		{"a suspect", true, "", 2, 1, true},
		{"in other processes", false, "", 2, 1, false},
		{"before one that is to be summarized", true, core.WakeCompact, 2, 1, false},
		{"one that has made progress", true, "", 1, 1, false},
		{"a write", true, "", 2, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLine(tt.local)
			l.at(0, func() { l.write(0, 2, 0, 0); l.w.threads[0].works(core.WakeUp{Kind: tt.kind}) })
			l.at(10*time.Second, func() { l.write(1, 2, 0, 0); l.write(1, tt.attempts, 0, 0) })
			l.at(20*time.Second, func() { l.write(1, tt.attempts, tt.fence, 0) })
			l.want(t, tt.overtakes)
		})
	}
}

// A run may keep its claim over a step that began before a suspect had waited for ten seconds.
func TestARunThatKeepsItsClaimWhileASuspectWaits(t *testing.T) {
	const s = time.Second
	tools, infer := thread.CursorTools, thread.CursorInfer
	tests := []struct {
		name    string
		local   bool
		claimed time.Duration
		rounds  []time.Duration // when the rounds of its calls end
		fences  []uint64        // of the claim after each; 0: it is released
		cursors [2]thread.Cursor
		fails   time.Duration // when; 0: never
	}{
		{"it was claimed in time", true, 11 * s, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{tools, infer}, 0},
		{"it was claimed later", true, 11*s + 1, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{tools, infer}, 40 * s},
		{"it releases its claim", true, 11*s + 1, []time.Duration{40 * s}, []uint64{0}, [2]thread.Cursor{tools, infer}, 0},
		{"its second step began in time", true, -s, []time.Duration{11 * s, 40 * s}, []uint64{1, 1}, [2]thread.Cursor{tools, infer}, 0},
		{"its second step began later", true, -s, []time.Duration{11*s + 1, 40 * s}, []uint64{1, 1}, [2]thread.Cursor{tools, infer}, 40 * s},
		{"its second step releases its claim", true, -s, []time.Duration{11*s + 1, 40 * s}, []uint64{1, 0}, [2]thread.Cursor{tools, infer}, 0},
		{"it ends no round", true, 12 * s, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{tools, tools}, 0},
		{"it begins a round", true, 12 * s, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{infer, tools}, 0},
		{"its model generates", true, 12 * s, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{infer, infer}, 0},
		{"there are other processes", false, 12 * s, []time.Duration{40 * s}, []uint64{1}, [2]thread.Cursor{tools, infer}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLine(tt.local)
			first, second := l.w.threads[0], l.w.threads[1]
			l.at(0, func() { l.write(0, 2, 0, 0); first.works(core.WakeUp{}) })
			l.at(tt.claimed, func() { second.runs.claimed = l.w.now })
			for i, at := range tt.rounds {
				l.at(at, func() {
					a := thread.Head{Run: thread.Run{ID: core.ID{2}, Cursor: tt.cursors[0]}, Claim: thread.Claim{Fence: 1}}
					b := a
					b.Run.Cursor, b.Claim.Fence = tt.cursors[1], tt.fences[i]
					second.checkKeeps(&a, &b)
				})
			}
			l.run()
			want := "at " + (faultsLast + tt.fails).String() + ": thread t0: run 02000000-0000-0000-0000-000000000000 keeps its claim over a step that began at "
			if strings.HasPrefix(l.w.violation, want) != (tt.fails > 0) || (l.w.violation != "") != (tt.fails > 0) {
				t.Errorf("%q, want a violation %s after the faults", l.w.violation, tt.fails)
			}
		})
	}
}

// testLine is a world of two threads, and what happens to them.
type testLine struct{ w *World }

func newTestLine(local bool) testLine {
	w := New(Config{Threads: 2, Processes: Processes{Local: local}})
	w.events = nil
	return testLine{w}
}

// at lets something happen so long after the faults.
func (l testLine) at(after time.Duration, f func()) { l.w.at(faultsLast+after-l.w.now, f) }

// write writes a thread's head; its run is due so long after the faults.
func (l testLine) write(i int, attempts uint8, fence uint64, due time.Duration) {
	th := l.w.threads[i]
	th.p.head = thread.Head{
		Run: thread.Run{ID: core.ID{byte(i + 1)}, Attempts: attempts}, Claim: thread.Claim{Fence: fence}, DueAt: epoch.Add(faultsLast + due).UnixMilli(),
	}
	th.checkTurn(&th.p.head)
}

// run lets it happen.
func (l testLine) run() {
	for len(l.w.events) > 0 {
		e := l.w.events.pop()
		l.w.now = e.at
		e.run()
	}
}

// want lets it happen, and checks whether the second run has overtaken the first.
func (l testLine) want(t *testing.T, overtakes bool) {
	t.Helper()
	l.run()
	const says = "thread t0: suspect 02000000-0000-0000-0000-000000000000, which came at "
	if strings.Contains(l.w.violation, says) != overtakes || (l.w.violation != "") != overtakes {
		t.Errorf("%q, want that it is overtaken: %t", l.w.violation, overtakes)
	}
}

// The process dies, and another one begins a second later.
func TestAnotherProcessBeginsTheLine(t *testing.T) {
	w := New(Config{Threads: 1, Processes: Processes{Local: true}})
	w.now = 5 * time.Second
	w.local.kill()
	for w.local == nil {
		e := w.events.pop()
		w.now = e.at
		e.run()
	}
	w.over = true
	w.unwind()
	if w.auditor.began != 6*time.Second {
		t.Errorf("the line begins at %s, want 6s", w.auditor.began)
	}
}

// A suspect's claim is still that of a suspect when its holder takes another fence.
func TestASuspectThatTakesAnotherFence(t *testing.T) {
	w := New(Config{Threads: 2, Processes: Processes{Local: true}})
	th := w.threads[1]
	claimed := thread.Head{Run: thread.Run{ID: core.ID{1}, Attempts: 3}, Fence: 7, Claim: thread.Claim{Fence: 7, Worker: w.local.name}}
	again := claimed
	again.Fence, again.Claim.Fence, again.CommitID, again.HolderCommitID = 8, 8, core.ID{9}, core.ID{9}
	for fence, want := range map[uint64]bool{7: true, 6: false} {
		th.runs.alone.fence = fence
		th.runs.claimed, th.p.head = time.Hour, again
		th.runs.checkClaim(claimed, again)
		if got := w.auditor.keepsWaiting(w.threads[0].p, 0); got != want || w.violation != "" {
			t.Errorf("the suspect's fence was %d: others wait %t, want %t; %s", fence, got, want, w.violation)
		}
	}
}

// A suspect is in the line as long as a worker has a hint of it, and nothing has claimed it.
func TestWhenASuspectIsInTheLine(t *testing.T) {
	w := New(Config{Threads: 1, Processes: Processes{Local: true}})
	th := w.threads[0]
	suspect := thread.Head{Run: thread.Run{ID: core.ID{1}, Attempts: 2}, DueAt: epoch.UnixMilli()}
	others := map[string]thread.Head{"claimed": suspect, "deleted": suspect, "waits": suspect, "progress": suspect}
	for name, change := range map[string]func(*thread.Head){
		"claimed":  func(h *thread.Head) { h.Claim.Fence = 1 },
		"deleted":  func(h *thread.Head) { h.Deleted = true },
		"waits":    func(h *thread.Head) { h.DueAt = 0 },
		"progress": func(h *thread.Head) { h.Run.Attempts = 1 },
	} {
		h := others[name]
		change(&h)
		others[name] = h
	}
	write := func(h thread.Head) {
		w.now += time.Second
		th.p.head = h
		th.checkTurn(&h)
	}
	want := func(what string, came, since time.Duration) {
		t.Helper()
		got := th.turn
		if got.suspect != (came > 0) || got.waits != (since > 0) || came > 0 && got.came != came || since > 0 && got.since != since {
			t.Errorf("%s: %+v, want a suspect since %s that waits since %s", what, got, came, since)
		}
	}
	for name, h := range others {
		w.now, th.turn = 0, turn{}
		write(suspect) // 1 s
		want("a suspect", time.Second, 0)
		w.now += time.Second
		over := th.works(core.WakeUp{})
		again := th.works(core.WakeUp{})
		want("its hint comes", time.Second, 2*time.Second)
		over()
		write(suspect)
		want("it is written", time.Second, 2*time.Second)
		write(h)
		want(name, 0, 0)
		w.now++ // no worker has a place in the line any more
		write(suspect)
		want("it is one again", 5*time.Second+1, 5*time.Second+1)
		again()
		want("the hint is done", 5*time.Second+1, 0)
		write(h)
		write(suspect)
		want("it is one a second later", 5*time.Second+1, 0)
		write(thread.Head{})
	}
}
