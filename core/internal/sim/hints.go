package sim

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// unswept is how long work may wait without a sweep: a message that is delivered again
// once, twice by way of the dead-letter queue, and is worked on.
const unswept = 15 * time.Minute

// owe notes that the process has written a head with work: such a writer sends a hint,
// even if another is still on its way, or claims the work itself.
func (h *host) owe(key core.ThreadKey, a, b *thread.Head) {
	same := a.Exists() && a.Claim.Fence == b.Claim.Fence && a.Run.ID == b.Run.ID && a.Run.Status == b.Run.Status &&
		len(a.Inbox) >= len(b.Inbox) && slices.EqualFunc(a.Unopened(), b.Unopened(), func(x, y thread.Dispatch) bool { return x.ID == y.ID })
	h.tended(key)
	if b.Claim.Fence != 0 && b.Claim.CommitID != a.Claim.CommitID {
		made := int64(binary.BigEndian.Uint64(b.Claim.CommitID[:]) >> 16)
		h.world.partition(key).state.seconds.since = time.UnixMilli(made).Sub(epoch)
	}
	if b.Claim.Fence != a.Claim.Fence && b.Claim.Worker == h.name {
		delete(h.owes, key)
		if b.SecondAt == 0 {
			h.world.partition(key).state.seconds.inline = h.world.now
		}
	}
	if b.Claim.Fence == 0 && !same && (b.Ready() || !b.Open() && len(b.Unopened()) > 0) {
		h.owes[key] = b.Version
	}
}

// tells reports whether a child still has to notify a thread of its end: a repeated
// notice sends a hint again.
func (w *World) tells(parent *partition) bool {
	for _, c := range w.family.byCall {
		owes := func(e thread.OutboxEntry) bool { return e.Kind == thread.OutboxChildEnded }
		if c.call.Thread == parent.key && slices.ContainsFunc(c.th.p.head.Outbox, owes) {
			return true
		}
	}
	return false
}

// checkHinted is run when an invocation is over.
func (h *host) checkHinted() {
	w := h.world
	if w.config.Faults > 0 || w.config.Storage.Late || w.config.Storage.Ambiguous || w.config.Processes.Local {
		return
	}
	for _, p := range w.storage.partitions {
		if version, ok := h.owes[p.key]; ok && !w.tells(p) {
			w.fail(p, "%s leaves work without a hint at version %d of the head", h.name, version)
		}
	}
}

// sight is what a process knows of the threads of one delivery.
type sight struct {
	looks  int           // heads of a batch that it has still to read before it claims any
	looked time.Duration // when the last of them came
	heads  map[core.ThreadKey]seen
	tended map[core.ThreadKey]bool // it has written their heads, or sent a hint

	began   time.Duration
	suspect *threadState // the first of the batch that was one then; nil: none was
}

// seen is the newest head that the process was given.
type seen struct {
	head thread.Head
	at   time.Duration
}

// begin forgets the delivery before.
func (h *host) begin(hints []core.WakeUp) {
	w := h.world
	if !w.config.Processes.Unswept && !w.config.Processes.Batch {
		return
	}
	h.sight = sight{heads: map[core.ThreadKey]seen{}, tended: map[core.ThreadKey]bool{}, began: w.now}
	if len(hints) == 1 {
		return
	}
	h.sight.looks = len(hints)
	for _, hint := range hints {
		if p := w.partition(hint.Key()); h.sight.suspect == nil && p.head.Suspect() && !p.head.Live(w.millis()) {
			h.sight.suspect = p.state
		}
	}
}

func (h *host) looked() {
	if h.sight.looks > 0 {
		h.sight.looks--
		h.sight.looked = h.world.now
	}
}

func (h *host) see(key core.ThreadKey, head *thread.Head) {
	if h.sight.heads != nil {
		h.sight.heads[key] = seen{*head, h.world.now}
	}
}

func (h *host) tended(key core.ThreadKey) {
	if h.sight.tended != nil {
		h.sight.tended[key] = true
	}
}

// checkNeeded: no hint is sent for a run that waits for people, unless one of them
// has just asked for something, or a call starts the run again: a call that has waited
// for a ticket's place runs a second time.
func (au *auditor) checkNeeded(hint core.WakeUp) {
	p := au.w.partition(hint.Key())
	h := &p.head
	if au.w.auditor.disturbed() || au.w.people.clients > 0 || !h.Open() || h.Run.Status != thread.Waiting || h.DueAt != 0 {
		return
	}
	if c := au.w.family.byThread[p.state]; c != nil && c.starting > 0 {
		return
	}
	if waited := au.w.now - p.changed; waited > time.Second {
		au.w.fail(p, "a hint is sent for a run that has waited for %s: %+v", waited, *h)
	}
}

// checkTended is run when a delivery's hint is acknowledged: what the process
// could have claimed when it had all that it reads before, it has claimed, or sent
// a hint for.
func (h *host) checkTended(key core.ThreadKey) {
	w := h.world
	s, ok := h.sight.heads[key]
	if !w.config.Processes.Unswept || !ok || h.sight.tended[key] {
		return
	}
	then := epoch.Add(max(s.at, h.sight.looked) - time.Second).UnixMilli() // clocks differ
	idle := s.head.Open() && s.head.Run.Status != thread.Waiting && s.head.Run.AvailableAt <= then
	queued := !s.head.Open() && slices.ContainsFunc(s.head.Unopened(), func(d thread.Dispatch) bool { return d.AvailableAt <= then })
	if !s.head.Live(then) && (idle || queued) {
		w.fail(w.partition(key), "%s finishes a hint of work that it neither claimed nor forwarded: %+v", h.name, s.head)
	}
}
