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
		processes Processes
		due       time.Duration // the first, after the faults
		hint      time.Duration // when a worker gets its hint; -1: none does
		kind      string        // of the hint
		came      time.Duration // when the second becomes a suspect
		begins    time.Duration // a new process; 0: none does
		claimed   time.Duration
		overtakes bool
	}{
		{"it came later", Processes{Local: true}, 0, 0, "", s + 1, 0, 20 * s, true},
		{"it came soon after", Processes{Local: true}, 0, 0, "", s, 0, 20 * s, false},
		{"it came before the hint of the first", Processes{Local: true}, 0, 5 * s, "", 6 * s, 0, 20 * s, false},
		{"it came after the hint of the first", Processes{Local: true}, 0, 5 * s, "", 6*s + 1, 0, 20 * s, true},
		{"the first has no hint", Processes{Local: true}, 0, -1, "", 10 * s, 0, 20 * s, false},
		{"the first is to be summarized", Processes{Local: true}, 0, 0, core.WakeCompact, 10 * s, 0, 20 * s, false},
		{"the first was not due", Processes{Local: true}, s, 0, "", 10 * s, 0, 20 * s, false},
		{"there is a new process", Processes{Local: true}, 0, 0, "", 10 * s, 15 * s, 20 * s, false},
		{"there are other processes", Processes{}, 0, 0, "", 10 * s, 0, 20 * s, false},
		{"there are faults", Processes{Local: true}, -20 * s, -20 * s, "", -10 * s, 0, -1, false},
		{"there were faults when it came", Processes{Local: true}, -20 * s, -20 * s, "", -10 * s, 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 2, Processes: tt.processes})
			first, second := w.threads[0], w.threads[1]
			write := func(th *threadState, run byte, fence uint64, due time.Duration) {
				a := th.p.head
				th.p.head = thread.Head{Run: thread.Run{ID: core.ID{run}, Attempts: 2}, Claim: thread.Claim{Fence: fence}, DueAt: epoch.Add(faultsLast + due).UnixMilli()}
				th.checkTurn(&a, &th.p.head)
			}
			events := []struct {
				at time.Duration
				f  func()
			}{
				{min(tt.hint, -time.Minute), func() { write(first, 1, 0, tt.due) }},
				{tt.hint, func() { first.works(core.WakeUp{Kind: tt.kind}) }},
				{tt.came, func() { write(second, 2, 0, tt.came) }},
				{tt.begins, w.startTurns},
				{tt.claimed, func() { write(second, 2, 1, tt.came) }},
			}
			for i, e := range events {
				if w.now = faultsLast + e.at; i == 1 && tt.hint == -1 || i == 3 && tt.begins == 0 {
					continue
				}
				e.f()
			}
			want := "suspect 02000000-0000-0000-0000-000000000000, which came at"
			if strings.Contains(w.violation, want) != tt.overtakes || (w.violation != "") != tt.overtakes {
				t.Errorf("%q, want one that it overtakes: %t", w.violation, tt.overtakes)
			}
		})
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
		a := th.p.head
		th.p.head = h
		th.checkTurn(&a, &h)
	}
	want := func(what string, came, since time.Duration) {
		t.Helper()
		got := th.turn
		if got.suspect != (came > 0) || got.waits != (since > 0) || came > 0 && got.came != came || since > 0 && got.since != since {
			t.Errorf("%s: %+v, want a suspect since %s that waits since %s", what, got, came, since)
		}
	}
	for name, h := range others {
		w.now = 0
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
		write(suspect)
		want("it is one again", 5*time.Second, 5*time.Second)
		again()
		want("the hint is done", 5*time.Second, 0)
		write(thread.Head{})
	}
}
