package sim

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// unswept is how long something may wait where nobody sweeps: a message that
// comes back once, twice by way of the dead-letter queue, and is worked on.
const unswept = 15 * time.Minute

// owe notes that the process has written a head that somebody can work on: who
// does so sends a hint, whatever else is still on its way.
func (h *host) owe(key core.ThreadKey, a, b *thread.Head) {
	same := a.Exists() && a.Claim.Fence == b.Claim.Fence && a.Run.ID == b.Run.ID && a.Run.Status == b.Run.Status &&
		len(a.Inbox) >= len(b.Inbox) && slices.EqualFunc(a.Pending, b.Pending, func(x, y thread.Dispatch) bool { return x.ID == y.ID })
	if b.Claim.Fence == 0 && !same && (b.Ready() || !b.Open() && len(b.Pending) > 0) {
		h.owes[key] = b.Version
	}
}

// checkHinted is run when an invocation is over.
func (h *host) checkHinted() {
	w := h.world
	if w.Faults > 0 || w.Late || w.Ambiguous || w.Local {
		return
	}
	for _, p := range w.partitions {
		if version, ok := h.owes[p.key]; ok {
			w.fail(p, "%s leaves work behind with version %d of the head, and no hint", h.name, version)
		}
	}
}
