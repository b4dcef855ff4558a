package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// holding is a claim that a task has taken. The head names only the process of a claim;
// here the delivery that works under it is known, so that claims of one process are
// distinguished.
type holding struct {
	fence uint64
	run   core.ID
	late  bool // the process heard of it when its lease was over, and has not refenced it since
}

// noteClaim notes a write of the task that takes a claim, or gives it another fence.
func (t *task) noteClaim(th *threadState, a, b *thread.Head) {
	if b.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence {
		return
	}
	if t.claims == nil {
		t.claims = map[*threadState]*holding{}
	}
	clear(t.claims) // a client that waits works on one thread after the other
	t.claims[th] = &holding{fence: b.Claim.Fence, run: b.Run.ID}
}

// holding is the newest claim of a thread that the task works under: its own, or that of
// the one that has started it. nil: none.
func (t *task) holding(th *threadState) *holding {
	for ; t != nil; t = t.from {
		if c := t.claims[th]; c != nil {
			return c
		}
	}
	return nil
}

// holds reports whether the present claim is the one that the current task works under. A
// task that has lost its claim may not know it yet; its work counts no more.
func (ru *runs) holds() bool {
	c := ru.th.w.current().holding(ru.th)
	return c != nil && ru.th.p.head.Claim.Fence == c.fence
}

// heard notes that a process learns of a write. A claim whose lease is over by its clock
// may be another's: the process writes the head again before it calls any code.
func (h *host) heard(t *task, th *threadState, next *thread.Head, claims bool) {
	c := t.holding(th)
	if c == nil || c.fence != next.Claim.Fence {
		return
	}
	if c.late = claims && next.Claim.Lease < h.clock().UnixMilli(); c.late {
		h.world.did(LateClaim)
	}
}

// checkHeard: no model is called under a claim that was heard of late, before the head
// confirms the claim.
func (ru *runs) checkHeard(h *host) {
	if c := ru.th.w.current().holding(ru.th); c != nil && c.late {
		ru.th.fail("%s calls a model under fence %d, although it received the claim after the lease", h.name, c.fence)
	}
}
