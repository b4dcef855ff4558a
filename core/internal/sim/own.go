package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// called is a model or a tool at work.
type called struct {
	th    *threadState
	fence uint64 // of the claim that it works under
	ctx   context.Context
	task  *task // that it runs in
	over  bool
	early string // the key of a call that started before its turn was committed, and that ends with its context
}

// calling notes that a model or a tool is called, until the function that it returns is.
func (h *host) calling(ctx context.Context, th *threadState) (over func()) {
	c := &called{th: th, ctx: ctx, task: h.world.current()}
	if held := h.world.current().holding(th); held != nil {
		c.fence = held.fence
	}
	h.calls = append(h.calls, c)
	return func() {
		c.over = true
		h.calls = slices.DeleteFunc(h.calls, func(o *called) bool { return o == c })
	}
}

// atOnce is how soon a process stops what it does on a run that it has ended itself.
const atOnce = 100 * time.Millisecond

// checkEarlyOver: a call that started before its turn was committed is over when the step's
// invocation ends, whether the turn was committed or not. A fault may keep its tool at the put of
// a part, which ends with no context, or at its work until the process dies: no step waits for
// that for longer than its grace.
func (h *host) checkEarlyOver() {
	if h.role == roleLocal || h.hindered > h.world.now { // a local host also has other work
		return
	}
	for _, c := range h.calls {
		if c.early != "" && !c.task.dies {
			c.th.fail("call %s runs on in %s after its step", c.early, h.name)
		}
	}
}

// endsOwn is run when a process writes a head: where that ends what the process works on,
// it stops at once.
func (h *host) endsOwn(th *threadState, a, b *thread.Head) {
	w := h.world
	ended := a.Open() && b.Run.ID == a.Run.ID && a.Run.Status != thread.Closing && b.Run.Status == thread.Closing
	byPerson := ended && (b.Run.Reason == thread.ReasonCancelled || b.Run.Reason == thread.ReasonSuperseded)
	if !byPerson && !b.Deleted || w.config.Faults > 0 || w.config.Storage.Ambiguous || w.config.Storage.Late {
		return
	}
	for _, c := range h.calls {
		if c.th != th || c.fence != a.Claim.Fence || c.ctx.Err() != nil {
			continue
		}
		w.did(OwnEnd)
		w.at(atOnce, func() {
			if !c.over && !h.dead && c.ctx.Err() == nil {
				th.fail("%s has ended run %s, and its work on the run continues %s later", h.name, a.Run.ID, atOnce)
			}
		})
	}
}

// stops has people end what is open or first on a thread, one after the other.
func (pe *people) stops(th *threadState) {
	for range 2 {
		pe.w.at(pe.w.random.between(time.Second, 40*time.Second), func() { pe.stopThread(th) })
	}
}
