package run

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Observer counts what the steps of a process do: what its writes have made visible,
// once each, whichever process has said or run it before. It is called in the step's
// goroutine, which waits for it, right after the write; a crash in between loses it. It
// keeps nothing that it is given, and does not panic.
type Observer interface {
	// Logged is called with records of a run's log: input, turns, results, step records.
	Logged(agent string, entries []thread.Entry)
	// Stepped is called when a step is over, with how long this process took for it since
	// it took it up: a step that has waited counts from where it went on.
	Stepped(agent string, took time.Duration)
	// Ended is called when a run is done, and each time that it begins to wait.
	Ended(run core.Run)
}

// began notes when a step is taken up, for whoever is told how long it took: nothing
// else asks for the time.
func (h *holder) began() {
	if h.s.observer != nil {
		h.taken = h.env.Now()
	}
}

// stepOver tells the observer that the step is over.
func (h *holder) stepOver(agent string) {
	if h.s.observer != nil {
		h.s.observer.Stepped(agent, h.env.Now().Sub(h.taken))
	}
}

// logged tells the observer of the draft's records, if a write has moved the head over
// them.
func (d *draft) logged(was, now thread.Head) {
	if d.base.holder.s.observer != nil && now.Seq > was.Seq {
		d.base.holder.s.observer.Logged(d.base.record.AgentID, d.entries)
	}
}
