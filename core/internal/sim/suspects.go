package sim

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// crowds makes some worlds one process, whose first run loses claims and has a long round
// of calls then, together with many others that are innocent.
func (c *Config) crowds(kind, turn int) {
	switch kind {
	case 2, 4, 5:
		c.Processes.Crowded = turn%3 == 1
	case 6:
		c.Processes.Crowded = c.Poison == crowding
	}
	if c.Processes.Crowded {
		c.Processes.Local, c.People.Calm, c.Agents.Long, c.People.Deletes, c.Agents.Pooled = true, true, false, false, false
		c.Threads, c.Runs, c.Faults, c.Poison = 6, 1, 0, crowding
	}
}

// crowding is the poison of the first run of a crowded world: it dies twice at each step,
// and ends when it is alone.
const crowding = 2

// crowdedCalls are those of its first turn. They take 90 seconds, one after the other.
const crowdedCalls = 9

// crowdedWithin is when the others come: some when the first run is a suspect already.
const crowdedWithin = 45 * time.Second

// crowdedOut reports whether a run is the one with the long round.
func (s script) crowdedOut(w *World) bool {
	return w.config.Processes.Crowded && s.step == 0 && w.scripted.poisonOf(w.threads[0], s.name) == crowding
}

// alone is the world's knowledge of the claim of a suspect: whether one of its results
// lies in the store, which proves that its code takes no process down.
type alone struct {
	fence  uint64 // of the claim; 0: it is of no suspect
	proved bool
}

// beginAlone notes a claim.
func (ru *runs) beginAlone(b *thread.Head) {
	ru.alone = alone{}
	if b.Run.Attempts > thread.SuspectAt {
		ru.alone.fence = b.Claim.Fence
	}
}

// stayAlone notes that a holder has taken another fence for the same claim.
func (ru *runs) stayAlone(a, b *thread.Head) {
	if ru.alone.fence == a.Claim.Fence {
		ru.alone.fence = b.Claim.Fence
	}
}

// harmless reports whether others may be claimed while the thread's claim exists: it is
// of no suspect, or of one that has made progress.
func (ru *runs) harmless() bool {
	head := &ru.th.p.head
	return ru.alone.fence == 0 || ru.alone.proved || head.Claim.Fence != ru.alone.fence || head.Run.Attempts <= thread.SuspectAt
}

// besideAfter is how long a suspect has its process for itself though it makes no
// progress; runs that have lost more claims than one wait on.
const besideAfter = 10 * time.Second

// checkBeside: a run that is claimed while a suspect runs is claimed after its progress,
// or after ten seconds if chance explains the suspect's own losses.
func (ru *runs) checkBeside(b *thread.Head) {
	w := ru.th.w
	h := w.hosts[b.Claim.Worker]
	if h == nil || h.slow > w.now {
		return
	}
	for _, other := range w.threads {
		if other == ru.th || other.p.head.Claim.Worker != h.name || other.runs.alone.fence == 0 || other.p.head.Claim.Fence != other.runs.alone.fence {
			continue
		}
		took := w.now - other.runs.claimed
		switch {
		case other.runs.harmless():
			w.did(BesideProved)
		case b.Run.Lost > 1:
			ru.th.fail("%s claims it after %d lost claims, next to suspect %s", h.name, b.Run.Lost, other.p.head.Run.ID)
		case other.runs.claimed <= h.frozen+time.Second: // the process may have stood still with the lock
		case took < besideAfter-time.Second: // the lock is requested before the claim is written
			ru.th.fail("%s claims it next to suspect %s, which has run for %s without a result", h.name, other.p.head.Run.ID, took)
		default:
			w.did(BesidePatient)
		}
	}
}

// startsWithin is how long it may take until a run is claimed that nothing keeps from it.
const startsWithin = 3 * time.Second

// checkProof is run at every put. A result that a tool has given is the first proof of a
// suspect's claim; soon after it the others that are due are claimed.
func (ru *runs) checkProof(r store.Record) {
	w, head := ru.th.w, &ru.th.p.head
	seq, ok := r.LogSeq()
	if !ok || ru.harmless() || r.Fence != head.Claim.Fence || seq < head.Run.Base || seq >= head.Run.Base+uint64(len(head.Run.Calls)) {
		return
	}
	entry, err := w.checks.DecodeEntry(r.Payload)
	if err != nil || entry.Message == nil || entry.Message.ToolResult == nil || entry.Run != head.Run.ID {
		return
	}
	if status := entry.Message.ToolResult.Status; status != core.ResultOK && status != core.ResultError {
		return // no tool gave it
	}
	ru.alone.proved = true
	h := w.hosts[head.Claim.Worker]
	if !w.config.Processes.Local || w.config.Faults > 0 || h == nil || w.scripted.suspectWaits() {
		return
	}
	var held []uint64 // the versions of those that wait
	for _, p := range w.storage.partitions {
		held = append(held, p.head.Version)
	}
	w.at(startsWithin, func() { ru.checkStarted(h, held) })
}

// checkStarted: every run that has been due since the proof was claimed since then. A
// suspect waits until nothing else runs, and others for it once it has waited for long.
func (ru *runs) checkStarted(h *host, held []uint64) {
	w := ru.th.w
	if h.dead || h.ending {
		return
	}
	for i, version := range held {
		p := w.storage.partitions[i]
		if head := &p.head; p != ru.th.p && head.Version == version && head.DueAt != 0 && head.Claim.Fence == 0 && head.DueAt <= w.millis()-startsWithin.Milliseconds() &&
			w.now-p.changed >= startsWithin && p.state.handed > 0 {
			w.fail(p, "it is due, and ignored for %s after a suspect of its process has stored a result: %+v", startsWithin, *head)
		}
	}
}

// suspectWaits reports whether a suspect without a claim is due.
func (sc scripted) suspectWaits() bool {
	for _, p := range sc.w.storage.partitions {
		if p.head.Suspect() && p.head.Claim.Fence == 0 && p.head.DueAt != 0 {
			return true
		}
	}
	return false
}
