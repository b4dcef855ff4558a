package run

import (
	"sync/atomic"

	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// shared is the part of a step that other goroutines use: its watch, its tools, and
// code in its process that writes to its thread or listens to it. Each part has its
// own lock or is atomic, and none knows the step.
type shared struct {
	hold   hold        // which claim is the step's: it has the claim's fence
	news   news        // what reaches the open round
	told   told        // heads that this process has written
	chunks live.Writer // the words of the step's inference
	behind *shared     // the next step of the same thread, see under, whose lock it has
}

// hold is what the step and its watch share: which claim is the step's own, and
// what the step is about to do to the head. The step's goroutine writes it, the
// watch reads it; each field is one fact, so that no two need to change together.
// refencing and ending change before the head write that they announce, and the
// watch reads the head before it reads them: what it finds there is announced by
// then. Fences only grow, so that a lower one than the step's is an old look.
type hold struct {
	fence     atomic.Uint64 // of the claim; 0 is never held
	refencing atomic.Bool   // the next fence is being taken
	ending    atomic.Bool   // the step ends the run: a closing head is expected
}

// look is what a fence that was read in the head says of the step's claim.
type look int

const (
	lookLost look = iota // another claim has the head, or none has
	lookOwn
	lookOld // it was read, or is being passed, while the step takes the next fence
)

// look judges a fence. refencing is read before fence and cleared after it is set:
// a reader that finds it cleared again finds the new fence.
func (h *hold) look(fence uint64) look {
	refencing, held := h.refencing.Load(), h.fence.Load()
	switch {
	case fence == 0 || fence > held+1 || fence == held+1 && !refencing:
		return lookLost
	case fence != held || refencing:
		return lookOld
	}
	return lookOwn
}

// judge returns the error if a head ends the step's work: thread.ErrFenced when the
// claim is lost, ErrSuperseded or ErrClosing when the run was ended and the step
// does not know yet. The head was written before judge is called, see hold.
func (h *hold) judge(head *thread.Head) error {
	ending := h.ending.Load()
	switch {
	case h.look(head.Claim.Fence) == lookLost:
		return thread.ErrFenced
	case !ending && head.Claim.Epoch != head.Epoch:
		return thread.ErrSuperseded
	case !ending && head.Run.Status == thread.Closing:
		return thread.ErrClosing
	}
	return nil
}
