package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// In a world without a sweep, a run that waits for a time is looked for as a sweep would, if the
// process that let it wait has died before it sent the hint, and in no other case.
func TestAWaitWhoseHintDiedWithItsProcess(t *testing.T) {
	const now = 10 * time.Minute
	swept := []time.Duration{16 * time.Minute, 17 * time.Minute}
	deed := func(do ...func(h *host, begin func())) []func(h *host, begin func()) { return do }
	begins := func(_ *host, begin func()) { begin() }
	dies := func(h *host, _ func()) { h.kill() }
	diesLater := func(h *host, _ func()) { h.world.at(time.Second, h.kill) }
	sends := func(wakeAt time.Duration) func(h *host, _ func()) {
		return func(h *host, _ func()) {
			hint := core.WakeUp{Tenant: tenant, Thread: "t0", WakeAt: epoch.Add(wakeAt).UnixMilli()}
			h.world.queue.enqueue(h, hint, 0)
		}
	}
	takesAnother := func(h *host, _ func()) { h.invoke(0, func(context.Context) {}, func(bool) {}) }
	tests := []struct {
		name   string
		sweep  bool
		before time.Duration // what the run waited for before; 0: it did not wait
		waits  time.Duration // what it waits for, until 17m30s
		does   []func(h *host, begin func())
		want   []time.Duration // when hints come
	}{
		{"it dies", false, 0, 15 * time.Minute, deed(begins, dies), swept},
		{"it was dead when the write arrived", false, 0, 15 * time.Minute, deed(dies, begins), swept},
		{"the time has passed", false, 0, 5 * time.Minute, deed(begins, dies), []time.Duration{
			11 * time.Minute, 12 * time.Minute, 13 * time.Minute, 14 * time.Minute, 15 * time.Minute, 16 * time.Minute, 17 * time.Minute,
		}},
		{"it has sent the hint", false, 0, 15 * time.Minute, deed(begins, sends(15*time.Minute), dies), nil},
		{"it has sent one for another time", false, 0, 15 * time.Minute, deed(begins, sends(14*time.Minute), dies), swept},
		{"the run waited for another time", false, 14 * time.Minute, 15 * time.Minute, deed(begins, dies), swept},
		{"the run waited for that time", false, 15 * time.Minute, 15 * time.Minute, deed(begins, dies), nil},
		{"the run waits for people", false, 0, 0, deed(begins, dies), nil},
		{"the run waited for a time, and waits for people", false, 15 * time.Minute, 0, deed(dies, begins), nil},
		{"it lives", false, 0, 15 * time.Minute, deed(begins), nil},
		{"it dies later", false, 0, 15 * time.Minute, deed(begins, diesLater), swept},
		{"it dies in a later invocation", false, 0, 15 * time.Minute, deed(begins, takesAnother, diesLater), nil},
		{"there is a sweep", true, 0, 15 * time.Minute, deed(begins, dies), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1, Processes: Processes{Unswept: !tt.sweep}})
			w.now, w.events, w.queue.gathered = now, nil, true // nothing takes what arrives
			p, h := w.threads[0].p, w.newHost(roleStep)
			was := waiting(tt.before)
			p.head = waiting(tt.waits)
			for _, do := range tt.does {
				do(h, func() { h.startsWait(p, &was, &p.head) })
			}
			w.at(7*time.Minute+30*time.Second, func() { p.head = thread.Head{} })
			var got []time.Duration
			for len(w.events) > 0 && w.now < 20*time.Minute {
				e := w.events.pop()
				w.now = e.at
				e.run()
				if slices.ContainsFunc(w.queue.arrived, func(hint core.WakeUp) bool { return hint.Sweep && hint.Thread == "t0" }) {
					got = append(got, w.now.Truncate(time.Minute))
				}
				w.queue.arrived = nil
			}
			w.over = true
			w.unwind()
			if !slices.Equal(got, tt.want) {
				t.Errorf("hints come at %v, want %v", got, tt.want)
			}
		})
	}
}

// waiting is the head of a run that waits for a time; 0: for people.
func waiting(at time.Duration) (h thread.Head) {
	h.Run = thread.Run{ID: core.ID{1}, Status: thread.Waiting, Calls: []thread.CallStatus{thread.CallSuspended}}
	h.Tickets = thread.Tickets{{ID: 1}}
	if at > 0 {
		h.Tickets[0].WakeAt = epoch.Add(at).UnixMilli()
	}
	return h
}
