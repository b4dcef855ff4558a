package sim

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// turn is the place of a thread among the suspects that wait in the local process. They start one
// by one, in the order in which they came, when nothing else runs, so that each waits for as long
// as the steps of those before it take.
type turn struct {
	hands   int           // hints of the thread that the process works on
	suspect bool          // its run is a suspect without a claim
	left    time.Duration // when it was last claimed, or no suspect any more; 0: never
	came    time.Duration // since when it is one: it has joined the line no earlier
	waits   bool          // and a hint is worked on
	since   time.Duration // since when that is so: it has joined the line no later than a look after that
	stepped time.Duration // when its run last ended a round of calls, and began another step
}

// joinsWithin is how long a worker takes to join the line, with the look at the head before that.
const joinsWithin = time.Second

// looksAgain is how long the line may have a place for a thread that has left it: each hint has one,
// and its worker looks at the head now and then.
const looksAgain = time.Second

// note looks at the thread after a change of its head, or of the hints that are worked on.
func (t *turn) note(h *thread.Head, now time.Duration) {
	suspect := h.Suspect() && h.Claim.Fence == 0 && h.DueAt != 0 && !h.Deleted
	switch {
	case suspect && !t.suspect && (t.left == 0 || now-t.left > looksAgain):
		t.came = now
	case !suspect && t.suspect:
		t.left = now
	}
	waits := suspect && t.hands > 0
	if waits && !t.waits {
		t.since = now
	}
	t.suspect, t.waits = suspect, waits
}

// joined is when the thread has joined the line, at the latest; ok is false if it has not. Faults
// may keep a worker from it.
func (t *turn) joined(p *partition) (at time.Duration, ok bool) {
	at = t.since
	if w := p.state.w; w.config.Faults > 0 {
		at = max(at, w.stop)
	}
	return at + joinsWithin, t.waits && epoch.Add(t.since).UnixMilli() >= p.head.DueAt
}

// works notes that the local process works on a hint of the thread, until the returned function is
// called.
func (th *threadState) works(hint core.WakeUp) (over func()) {
	if hint.Kind == core.WakeCompact { // it needs no turn
		return func() {}
	}
	count := func(by int) {
		th.turn.hands += by
		th.turn.note(&th.p.head, th.w.now)
	}
	count(1)
	return func() { count(-1) }
}

// startTurns begins the line of a new process: that of the one before is gone.
func (au *auditor) startTurns() {
	w := au.w
	au.began = w.now
	for _, p := range w.storage.partitions {
		p.state.turn = turn{}
		p.state.turn.note(&p.head, w.now)
	}
}

// checkTurn is run at every write of a head: a suspect is claimed before no other that has come
// earlier.
func (th *threadState) checkTurn(b *thread.Head) {
	w := th.w
	if w.config.Processes.Local && th.turn.suspect && b.Claim.Fence != 0 {
		for _, p := range w.storage.partitions {
			if at, ok := p.state.turn.joined(p); ok && at < th.turn.came {
				w.fail(p, "suspect %s, which came at %s, is claimed before this one, which has waited since %s: %+v", b.Run.ID, th.turn.came, at, p.head)
			}
		}
	}
	th.turn.note(b, w.now)
}

// checkKeeps is run at every write of a head: a run keeps its claim over a step only if no suspect
// had waited for ten seconds when the step began.
func (th *threadState) checkKeeps(a, b *thread.Head) {
	w := th.w
	if !w.config.Processes.Local || a.Run.Cursor != thread.CursorTools || b.Run.Cursor != thread.CursorInfer {
		return
	}
	began := max(th.runs.claimed, th.turn.stepped)
	th.turn.stepped = w.now
	if b.Claim.Fence != a.Claim.Fence {
		return
	}
	for _, p := range w.storage.partitions {
		if at, ok := p.state.turn.joined(p); ok && at+besideAfter < began {
			w.fail(p, "run %s keeps its claim over a step that began at %s, and this one has waited since %s: %+v", b.Run.ID, began, at, p.head)
		}
	}
}

// keepsWaiting reports whether a suspect that is due since a time waits for a run of its process:
// for a suspect before it, or for a run that was claimed before it had waited for ten seconds.
func (au *auditor) keepsWaiting(p *partition, since time.Duration) bool {
	at, ok := p.state.turn.joined(p)
	if !ok {
		at = since + joinsWithin
	}
	return slices.ContainsFunc(au.w.storage.partitions, func(o *partition) bool {
		ru := &o.state.runs
		return o.head.Claim.Fence != 0 && (o.head.Claim.Fence == ru.alone.fence || ru.claimed <= at+besideAfter)
	})
}
