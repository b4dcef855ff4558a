package thread

// due is the time when the sweep must look at the thread. The old value stays while
// it is neither late nor past, so that an index on it is touched rarely.
func (h *Head) due(old int64, t Transition) int64 {
	at, ok := h.earliest(t.Now)
	if !ok {
		return 0
	}
	at = max(at, t.Now+t.Due.Grace, 1)
	if round := t.Due.Round; round > 0 {
		at = (at + round - 1) / round * round
	}
	if old > t.Now && old <= at && t.Due.Round > 0 {
		return old
	}
	return at
}

// earliest is the first time at which a worker could do something for the thread; 0
// means now.
func (h *Head) earliest(now int64) (at int64, ok bool) {
	note := func(t int64) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	for _, e := range h.Outbox {
		if e.Delivers() {
			note(e.Next)
		}
	}
	switch {
	case h.Deleted:
		if !h.Erased {
			note(0)
		}
	case h.Claim.Fence != 0:
		note(h.Claim.Lease + 1)
	case !h.Open():
		if len(h.Pending) > 0 {
			note(0)
		}
		for i := range h.Delayed {
			note(h.Delayed[i].AvailableAt)
		}
	case h.Ready():
		note(h.Run.AvailableAt)
	default:
		for _, t := range h.Tickets {
			if t.Deadline != 0 && t.Decision == 0 {
				note(t.Deadline)
			}
			if t.WakeAt != 0 && t.Decision == 0 {
				note(t.lookAt(now))
			}
		}
	}
	return at, ok
}

// wake returns the hint for what could be claimed next, nil when nothing can.
func (h *Head) wake(now int64) *Hint {
	if h.Live(now) {
		return nil
	}
	if h.Claim.Fence != 0 { // its holder is gone
		return &Hint{Dispatch: h.Run.Dispatch}
	}
	if h.Open() {
		switch {
		case h.Run.AvailableAt > now: // it is ready then
			return &Hint{Dispatch: h.Run.Dispatch, At: h.Run.AvailableAt}
		case h.Ready(), h.Tickets.overdue(now):
			return &Hint{Dispatch: h.Run.Dispatch}
		}
		return wakeLater(h, now)
	}
	if list, i := h.queue().best(now); list != nil {
		return &Hint{Dispatch: (*list)[i].ID}
	}
	var next *Hint
	for _, d := range h.Delayed {
		if next == nil || d.AvailableAt < next.At {
			next = &Hint{Dispatch: d.ID, At: d.AvailableAt}
		}
	}
	return next
}

// wakeFollowed is wake for the worker of the open run: its hint has the time until
// which a client follows the run.
func (h *Head) wakeFollowed(now, followed int64) *Hint {
	hint := h.wake(now)
	if hint != nil && h.Open() {
		hint.Followed = followed
	}
	return hint
}
