package sim

import (
	"context"
	"testing"
	"time"
)

// A call that started before its turn was committed is over when the invocation ends, unless a
// fault still keeps a request of the process, or keeps the call's tool until the process dies.
func TestEarlyCallsAreOverAfterTheirStep(t *testing.T) {
	const now = time.Minute
	tests := []struct {
		name     string
		role     role
		early    string
		hindered time.Duration
		dies     bool
		want     string
	}{
		{"it runs on", roleStep, "k", 0, false, "at 1m0s: thread t0: call k runs on in h1 after its step"},
		{"it runs on, and the fault is over", roleStep, "k", now, false, "at 1m0s: thread t0: call k runs on in h1 after its step"},
		{"a fault keeps the process", roleStep, "k", now + time.Second, false, ""},
		{"the process dies, and its tool waits for that", roleStep, "k", 0, true, ""},
		{"another call runs on", roleStep, "", 0, false, ""},
		{"a local host has other work", roleLocal, "k", 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1})
			h := w.newHost(tt.role)
			h.name, h.hindered, w.now = "h1", tt.hindered, now
			h.calls = []*called{{th: w.threads[0], early: tt.early, task: &task{dies: tt.dies}}}
			if h.checkEarlyOver(); w.violation != tt.want {
				t.Errorf("%q, want %q", w.violation, tt.want)
			}
		})
	}
}

// A tool that kills its process a while later hears nothing until then. Every other one ends with
// its context.
func TestOnlyAToolThatKillsItsProcessOutlivesItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var struck [faults]bool
	for seed := range uint64(40) {
		w := New(Config{Seed: seed, Threads: 1, Faults: 1})
		h := w.newHost(roleStep)
		w.events = nil
		returned := false
		h.spawn(func() {
			defer h.calling(ended, w.threads[0])()
			h.calls[0].early = "k"
			_ = h.work(ended, SiteTool, 5*time.Second)
			returned = true
		})
		for len(w.events) > 0 {
			e := w.events.pop()
			w.now = e.at
			e.run()
			if h.hindered = 0; !h.dead {
				h.checkEarlyOver()
			}
		}
		crashed := false
		for f, n := range w.Stats.Struck[SiteTool] {
			struck[f] = struck[f] || n > 0
			crashed = crashed || n > 0 && (Fault(f) == FaultCrashBefore || Fault(f) == FaultCrashAfter)
		}
		if w.violation != "" || h.dead != crashed || returned == crashed || crashed && w.now == 0 {
			t.Errorf("seed %d, crash %t: %q, at %s the process is dead: %t, the tool has returned: %t", seed, crashed, w.violation, w.now, h.dead, returned)
		}
		w.over = true
		w.unwind()
	}
	for _, f := range allowed(SiteTool) {
		if !struck[f] {
			t.Errorf("no tool met the fault %q", f)
		}
	}
}
