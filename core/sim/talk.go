package sim

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// ends reports whether a write ends a run that has come to its end by itself, or
// begins to.
func ends(a, b *thread.Head) bool {
	over := b.Run.ID != a.Run.ID || b.Run.Status == thread.Closing && b.Run.Reason == thread.ReasonOwn
	return a.Open() && a.Run.Status != thread.Closing && over
}

// speakUp has people steer a run while the write that ends it is on its way,
// with its records stored before it: the write is refused, the records stay, and
// the run goes on.
func (w *World) speakUp(ctx context.Context, key core.ThreadKey, next *thread.Head) error {
	p := w.partition(key)
	if !w.config.People.Talkative || w.now >= w.stop || !ends(&p.head, next) || !w.random.chance(0.6) {
		return nil
	}
	for range 1 + w.random.below(2) {
		w.steer(p.state)
	}
	return w.sleep(ctx, w.random.between(60*time.Millisecond, 200*time.Millisecond))
}

// dieAtTheEnd has a process die when it has begun to close a run: another one
// finds what is stored of the run's end.
func (h *host) dieAtTheEnd(a, b *thread.Head) {
	w := h.world
	if w.config.People.Talkative && w.now < w.stop && ends(a, b) && b.Open() && w.random.chance(0.4) {
		w.strike(SiteCommit, FaultCrashAfter)
		w.at(0, h.kill)
	}
}

// callOff has people end what becomes of input that a run leaves unread: while
// the run closes, or as soon as the input is queued.
func (w *World) callOff(th *threadState, a, b *thread.Head) {
	if !w.config.People.Talkative || w.now >= w.stop {
		return
	}
	if b.Run.Status == thread.Closing && a.Run.Status != thread.Closing && len(b.Inbox) > 0 && w.random.chance(0.3) {
		w.at(0, func() { w.interrupt(th) })
	}
	if len(b.Pending) <= len(a.Pending) {
		return
	}
	d := b.Pending[len(b.Pending)-1]
	if d.Steered && len(d.Rest) > 0 && w.random.chance(0.5) {
		w.at(0, func() { w.cancelRun(th, func() core.ID { return d.Run }) })
	}
}

// anyAgent draws one; where people talk at the end, most often one that listens
// to it.
func (w *World) anyAgent() string {
	if w.config.People.Talkative && w.random.chance(0.5) {
		return agentEnding
	}
	if w.mixed() && w.random.chance(0.7) { // whose calls wait beside each other
		return []string{agentShort, agentHooked}[w.random.below(2)]
	}
	return agents[w.random.below(len(agents))]
}
