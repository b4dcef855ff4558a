package thread

// Second hints. A worker that dies leaves its hint hidden in the queue for minutes. So while a
// claim of a worker holds, another hint of the thread is on its way, which comes after the
// lease: it finds a claim that somebody renewed or took, and is dropped, or one to take over.
// The head has the time of the newest one, so that a run needs one in a while and not one for
// each step.
//
// A claim of a request that streams its run has none at first: most such runs are over within
// the lease, and the client of a stream that breaks comes back. Its first renewal, or what it
// commits at that age, sends one.

// secondHint returns when the second hint that follows a write comes, and notes that in the head;
// 0: the write sends none, since one that is on its way comes late enough, or none is needed.
func secondHint(h *Head, t Transition, r Result) (at int64) {
	if h.SecondAt < t.Now { // it has come
		h.SecondAt = 0
	}
	lease := t.Second
	if lease <= 0 || h.Deleted {
		return 0
	}
	spare := lease / 6 // for clocks that differ, and for a queue that takes its time
	ends := h.Claim.Lease
	switch {
	case h.Claim.Fence != 0:
		take, taken := t.Change.(TakeClaim)
		if worker := taken && !take.Inline; !worker && h.SecondAt == 0 && t.Now-madeAt(h.Claim.CommitID) < lease-lease/3 {
			return 0
		}
	case r.Hint != nil && r.Hint.At <= t.Now: // the claim that it brings begins soon
		ends = t.Now + lease
		spare *= 2
	default:
		return 0
	}
	if h.SecondAt >= ends+spare {
		return 0
	}
	h.SecondAt = max(ends, t.Now+lease) + lease
	return h.SecondAt
}

// leftFor is how long work must lie before it is taken for abandoned, in milliseconds, in
// addition to a lease.
const leftFor = 5_000

// Left reports whether the thread's work seems to be abandoned: its claim was not renewed, or
// what could be claimed was not for a lease. Its hint may be lost, or late.
func (h *Head) Left(now, lease int64) bool {
	hint := h.wake(now)
	if hint == nil {
		return false
	}
	if h.Claim.Fence != 0 {
		return now > h.Claim.Lease+leftFor
	}
	since := max(madeAt(h.CommitID), h.Run.AvailableAt, hint.WakeAt)
	if d := h.queue().dispatch(hint.Dispatch); d != nil {
		since = max(since, d.AvailableAt)
	}
	return now > since+lease+leftFor
}
