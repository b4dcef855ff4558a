package thread

// Suspend is the transition that records how far the open round is, while calls of it
// still run: stored results, at_most_once tools that are about to start, tickets that a
// person can decide immediately. The new head shows which of the tickets got a place: see
// [CommitStep].
type Suspend struct {
	Fence   uint64
	Calls   []CallStatus // as the step leaves them; nil: unchanged
	Tickets []Ticket
	Schema  uint16  // highest schema of an adopted result; 0: none was
	Through *uint32 // as in Nack
}

func (c Suspend) apply(h *Head, t Transition) (Result, error) {
	if err := h.working(c.Fence); err != nil {
		return Result{}, err
	}
	if err := h.Run.moveCalls(c.Calls, &h.Tickets, c.Tickets); err != nil {
		return Result{}, err
	}
	h.Run.keepThrough(c.Through)
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	return Result{}, h.Run.suspendCalls(&h.Tickets, c.Tickets)
}
