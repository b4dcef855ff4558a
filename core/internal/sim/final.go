package sim

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// moving names the part that still moves, or should; "" when nothing does.
func (au *auditor) moving() string {
	if au.w.people.clients > 0 || au.w.working > 0 || au.w.people.planned > 0 {
		return "requests"
	}
	for _, p := range au.w.storage.partitions {
		h := &p.head
		switch {
		case p.state.hints > 0:
			return "hints"
		case p.state.held > 0:
			return "deliveries" // the head is at rest already, effects may follow
		case h.DueAt != 0:
			return "what is due"
		case h.Claim.Fence != 0, h.Ready(), !h.Open() && len(h.Unopened()) > 0:
			return "work"
		}
	}
	return ""
}

// final looks at a world that should be at rest.
func (au *auditor) final() {
	if what := au.moving(); what != "" {
		for _, p := range au.w.storage.partitions {
			if h := &p.head; p.state.hints > 0 || h.DueAt != 0 || h.Claim.Fence != 0 {
				au.w.fail(p, "not settled (%s), %d hints, head %+v", what, p.state.hints, *h)
			}
		}
		au.w.violate("not settled: %s", what)
	}
	au.checkCounts()
	au.checkCounters()
	au.checkFamily()
	au.checkEnds()
	au.checkLetters()
	au.checkUsage()
	au.checkForks()
	for _, p := range au.w.storage.partitions {
		th, h := p.state, &p.head
		if h.Deleted {
			if !h.Erased {
				au.w.fail(p, "the deleted thread is not erased: %+v", *h)
			}
			th.checkErased()
			continue
		}
		if h.Open() && h.Run.Status == thread.Waiting && !waits(h) {
			au.w.fail(p, "the run waits without a ticket: %+v", *h)
		}
		if at := wakesAt(h); at != 0 {
			au.w.fail(p, "a call still waits for its time, %d: %+v", at, *h)
		}
		th.runs.finalCounts()
		th.checkListings(h)
		for _, in := range th.inputs.accepted {
			if in.over == "" && !(h.Open() && h.Run.Status == thread.Waiting) {
				au.w.fail(p, "input %s is never read", in.name)
			}
			if in.over == "read" && th.inputs.reads[in.name] != 1 {
				au.w.fail(p, "input %s is reported as read, the log has it %d times", in.name, th.inputs.reads[in.name])
			}
		}
	}
}

// finalCounts: without a crash, every command has its effects, once, and in a
// world where nothing goes wrong nothing is done twice.
func (ru *runs) finalCounts() {
	if ru.th.w.config.Faults > 0 || ru.th.w.config.Poison != 0 {
		return
	}
	for name := range ru.th.logged.folded.committed {
		n := ru.th.calls.effects[name]
		if n != 1 {
			ru.th.fail("the effect of %s happened %d times without a crash", name, n)
		}
	}
}

// waits reports whether a ticket is not decided.
func waits(h *thread.Head) bool {
	for _, t := range h.Tickets {
		if t.Decision == 0 {
			return true
		}
	}
	return false
}

// disturbed reports whether anything but people interferes with the runs.
func (au *auditor) disturbed() bool {
	return au.w.config.Faults > 0 || au.w.config.Poison < 0 || au.w.config.Programs.Mixed && !au.w.config.Programs.Old || au.w.config.Processes.Local || au.w.config.Storage.Late || au.w.config.Storage.Ambiguous || au.w.config.Processes.Restarts
}

// lookForForgotten: without a fault, the sweep finds nothing that could have
// been claimed for a while.
func (au *auditor) lookForForgotten() {
	if au.w.auditor.disturbed() {
		return
	}
	for _, p := range au.w.storage.partitions {
		h := &p.head
		au.lookForSleepers(p)
		if h.Deleted || h.DueAt == 0 || h.Claim.Fence != 0 || p.state.hints > 0 || p.state.held > 0 || h.Run.Status == thread.Waiting || waitsLong(h) {
			continue // a ticket's deadline is the sweep's, and so is a late try of a message
		}
		ready := max(h.DueAt, epoch.Add(p.changed).UnixMilli())
		if au.w.config.Programs.Old && au.w.now > oldSettles/3 {
			continue // the sweep's, in the end
		}
		if au.w.millis()-ready > (3 * time.Second).Milliseconds() {
			au.w.fail(p, "a hint was forgotten: %+v", *h)
		}
	}
}

// lookForStranded: after the faults, what can be claimed is found within two
// sweeps.
func (au *auditor) lookForStranded() {
	for _, p := range au.w.storage.partitions {
		if p.head.Deleted { // and due for as long as a worker may live; final looks at its end
			continue
		}
		due := p.head.DueAt
		if at := wakesAt(&p.head); at != 0 && (due == 0 || at < due) {
			due = at
		}
		since := max(due, epoch.Add(max(p.changed, au.w.stop, au.began)).UnixMilli())
		within := 2*sweepEvery + 10*time.Second
		if au.w.config.Processes.Unswept {
			within = unswept
		}
		late := au.w.millis() - since
		if due == 0 || late <= within.Milliseconds() {
			continue
		}
		stranded := func() {
			au.w.fail(p, "it has been due for %d s and no process has claimed it: %+v", late/1000, p.head)
		}
		switch {
		case !au.w.config.Processes.Local:
			stranded()
		case p.head.Suspect():
			au.lookAgain(p, stranded, func() bool { return au.keepsWaiting(p, time.UnixMilli(since).Sub(epoch)) })
		default:
			au.lookAgain(p, stranded, func() bool { return au.standsBehind(p.head.Run.Lost > 1) })
		}
	}
}

// lookAgain calls stranded if nothing keeps a run of the local process waiting, now and
// [startsWithin] later. What made it wait may just have ended.
func (au *auditor) lookAgain(p *partition, stranded func(), waits func() bool) {
	if waits() {
		return
	}
	version := p.head.Version
	au.w.at(startsWithin, func() {
		if p.head.Version == version && !waits() {
			stranded()
		}
	})
}

// standsBehind reports whether runs of the local process wait that are no suspects: one has waited
// for ten seconds, and nothing starts before that, or one runs and has made no progress, within
// ten seconds or, if they are unlucky, since they have lost more claims than one. Each suspect of
// the line takes as long as its step.
func (au *auditor) standsBehind(unlucky bool) bool {
	return slices.ContainsFunc(au.w.storage.partitions, func(p *partition) bool {
		if h := &p.head; h.Claim.Fence == 0 {
			due := max(h.DueAt, epoch.Add(p.changed).UnixMilli())
			return h.Suspect() && h.DueAt != 0 && au.w.millis()-due >= besideAfter.Milliseconds()
		}
		return !p.state.runs.harmless() && (unlucky || au.w.now-p.state.runs.claimed < besideAfter)
	})
}
