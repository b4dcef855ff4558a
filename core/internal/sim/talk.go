package sim

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// ends reports whether a write ends a run that ended by itself, or starts to.
func ends(a, b *thread.Head) bool {
	over := b.Run.ID != a.Run.ID || b.Run.Status == thread.Closing && b.Run.Reason == thread.ReasonOwn
	return a.Open() && a.Run.Status != thread.Closing && over
}

// speakUp has people steer a run while the write that ends it is on its way, with its
// records stored before it: the write is refused, the records stay, and the run
// continues.
func (pe *people) speakUp(ctx context.Context, key core.ThreadKey, next *thread.Head) error {
	p := pe.w.partition(key)
	if !pe.w.config.People.Talkative || pe.w.now >= pe.w.stop || !ends(&p.head, next) || !pe.w.random.chance(0.6) {
		return nil
	}
	for range 1 + pe.w.random.below(2) {
		pe.steer(p.state)
	}
	return pe.w.sleep(ctx, pe.w.random.between(60*time.Millisecond, 200*time.Millisecond))
}

// dieAtTheEnd has a process die when it has started to close a run: another one finds the
// stored records of the run's end.
func (h *host) dieAtTheEnd(a, b *thread.Head) {
	w := h.world
	if w.config.People.Talkative && w.now < w.stop && ends(a, b) && b.Open() && w.random.chance(0.4) {
		w.strike(SiteCommit, FaultCrashAfter)
		w.at(0, h.kill)
	}
}

// callOff has people end what becomes of input that a run leaves unread: while
// the run closes, or as soon as the input is queued.
func (pe *people) callOff(th *threadState, a, b *thread.Head) {
	if !pe.w.config.People.Talkative || pe.w.now >= pe.w.stop {
		return
	}
	if b.Run.Status == thread.Closing && a.Run.Status != thread.Closing && len(b.Inbox) > 0 && pe.w.random.chance(0.3) {
		pe.w.at(0, func() { pe.interrupt(th) })
	}
	if len(b.Pending) <= len(a.Pending) {
		return
	}
	d := b.Pending[len(b.Pending)-1]
	if d.Steered && len(d.Rest) > 0 && pe.w.random.chance(0.5) {
		pe.w.at(0, func() { pe.cancelRun(th, func() core.ID { return d.Run }) })
	}
}

// anyAgent draws one; where people talk at the end, most often one that listens
// to it.
func (pe *people) anyAgent() string {
	if pe.w.config.People.Talkative && pe.w.random.chance(0.5) {
		return agentEnding
	}
	if pe.mixed() && pe.w.random.chance(0.7) { // whose calls wait at the same time
		return []string{agentShort, agentHooked}[pe.w.random.below(2)]
	}
	return agents[pe.w.random.below(len(agents))]
}
