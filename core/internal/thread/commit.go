package thread

import "fmt"

// CommitTurn is commit A: it makes an assistant turn with tool calls visible,
// before any of them runs, and reserves the sequences after it for their
// results.
type CommitTurn struct {
	Fence     uint64
	From      uint64 // the sequence that the step began at; ErrApplied when the head is past it
	Seq       uint64 // of the assistant message
	Sum       uint32 // the head's TailSum where Seq moves; 0: none is known
	Calls     int
	TurnFence uint64 // fence that the inference ran under
	Batch     bool   // the round waits until every ticket is decided
	Consumed  []InboxRef
	Summary   uint64 // sequence that a new summary covers; 0: the old one stays in force
	Cut       uint64 // first sequence of the log's tail that the first record of this commit supersedes; 0: none
	Schema    uint16 // highest schema of a record that another program wrote and this commit puts in force: a summary; 0: none
	Lacks     bool   // the program lacks a part that the run's agent names, and continues without: see Run.LacksSince
}

func (c CommitTurn) apply(h *Head, t Transition) (Result, error) {
	if err := h.working(c.Fence); err != nil {
		return Result{}, err
	}
	if err := startsAt(c.From, h.Seq); err != nil {
		return Result{}, err
	}
	switch {
	case h.Run.Cursor == CursorTools:
		return Result{}, invalid("commit turn: the tool round of step %d is still open", h.Run.Step)
	case c.Seq <= h.Seq || c.Seq > MaxSeq-MaxCalls-1:
		return Result{}, invalid("commit turn: sequence %d is not after %d", c.Seq, h.Seq)
	case c.Calls <= 0 || c.Calls > MaxCalls:
		return Result{}, invalid("commit turn: %d tool calls, allowed are 1 to %d", c.Calls, MaxCalls)
	}
	before, err := h.Inbox.consume(c.Consumed, h.Run.ID, h.Seq, c.Seq)
	if err != nil {
		return Result{}, err
	}
	h.Seq, h.TailSum = c.Seq, c.Sum
	h.Run.Step++
	h.Run.Cursor, h.Run.Base, h.Run.TurnFence = CursorTools, c.Seq+1, c.TurnFence
	h.Run.Calls, h.Run.Batch, h.Run.Round = make([]CallStatus, c.Calls), c.Batch, 0
	h.Run.progress()
	h.Run.noteTakenOn(c.Lacks)
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	return Result{Before: before}, h.summarize(c.Summary, c.Cut, c.From)
}

// CommitStep is commit B: it moves the head over the step's records and hands the run
// on. Result.Outcome, which it returns, counts, not the requested outcome:
//   - Wait becomes Yield when a ticket is decided (with Run.Batch: when all are), or
//     when a person's input has come in between and supersedes one: it supersedes
//     none of a child run; or with Crowded when a call is new and a place is free;
//   - a natural Done becomes Yield when the inbox is not empty;
//   - Done becomes Close when RunEnd is to run or a call is open; with an unchanged
//     Seq, the close takes a round whose calls are all done;
//   - Yield becomes Continue with Keep, unless the head covers records that the
//     program does not understand, or a ticket is to be decided by the clock, which only a
//     claim does.
//
// Calls are the statuses that the step leaves, nil for no change. Tickets are the
// suspensions that it knows of; existing ones stay unchanged. When there are more
// than places, the last of them get none: their calls are CallNew in the new head,
// and suspend again when a place is free.
type CommitStep struct {
	Fence    uint64
	From     uint64  // as in CommitTurn
	Outcome  Outcome // Yield, Wait or Done
	Natural  bool    // Done: the model ended by itself
	Listens  bool    // Done: RunEnd is to run, or a round is to be closed
	Seq      uint64  // of the last record that becomes visible
	Sum      uint32  // as in CommitTurn
	Calls    []CallStatus
	Tickets  []Ticket
	Through  *uint32 // as in Nack
	Round    bool    // an open round's record goes with this write, if the round stays open
	Consumed []InboxRef
	Summary  uint64 // sequence that a new summary covers; 0: the old one stays in force
	Cut      uint64 // as in CommitTurn
	Schema   uint16 // as in CommitTurn, and of adopted results
	Lease    int64  // Continue: the renewed lease, in milliseconds from now
	Lacks    bool   // as in CommitTurn
	// Crowded means that a call of the step had no place for its ticket. The step may have
	// ended the call that had the place, and no decision that comes would start the other.
	Crowded bool
	// Keep turns Yield into Continue: the holder continues itself.
	Keep bool
	// Followed is the time until which a client follows the run, for the hint; 0: no
	// client does.
	Followed int64
}

func (c CommitStep) apply(h *Head, t Transition) (Result, error) {
	if err := h.working(c.Fence); err != nil {
		return Result{}, err
	}
	if err := startsAt(c.From, h.Seq); err != nil {
		return Result{}, err
	}
	h.Run.noteTakenOn(c.Lacks) // also where the run only waits now
	before, err := h.Inbox.consume(c.Consumed, h.Run.ID, h.Seq, c.Seq)
	if err != nil {
		return Result{}, err
	}
	if err := h.Run.moveCalls(c.Calls, &h.Tickets, c.Tickets); err != nil {
		return Result{}, err
	}
	if err := h.Run.suspendCalls(&h.Tickets, c.Tickets); err != nil {
		return Result{}, err
	}
	if leaves := c.Outcome == Done && c.Listens && c.Seq == h.Seq; !leaves {
		if err := h.advance(c.Seq); err != nil {
			return Result{}, err
		}
		putSum(h, c.From, c.Sum)
	}
	h.Run.keepThrough(c.Through)
	if err := h.summarize(c.Summary, c.Cut, c.From); err != nil {
		return Result{}, err
	}
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	outcome, err := h.outcome(c, t.Now)
	if err != nil {
		return Result{}, err
	}
	r := Result{Before: before, Outcome: outcome}
	if c.Round && outcome != Done && h.Run.OpenCalls() {
		h.Run.Round = h.next()
	}
	switch outcome {
	case Yield:
		if c.Keep && h.Schema <= t.Schemas.Reads && !h.Tickets.anyWakes(t.Now) {
			r.Outcome = Continue
			h.Claim.Lease, h.Claim.Queued = max(h.Claim.Lease, t.Now+c.Lease), 0
			return r, nil
		}
		if c.Keep {
			h.Run.uncount() // it would have continued: the run is not to blame
		}
		h.takeBack(false)
	case Wait:
		h.Claim, h.Run.Status = Claim{}, Waiting
		if h.Tickets.asks() {
			h.announce(t, OutboxWaiting, h.Run.ID)
		}
	case Done:
		h.beginClosing(ReasonOwn, t)
		if c.Listens || h.Run.OpenCalls() {
			r.Outcome = Close
			return r, nil
		}
		r.Opened, r.Left = h.removeRun(t)
	}
	r.Hint = h.wakeFollowed(t.Now, c.Followed)
	return r, nil
}

// putSum puts the checksum of a commit in force, if it has moved the log's end.
func putSum(h *Head, from uint64, tail uint32) {
	if h.Seq != from {
		h.TailSum = tail
	}
}

// startsAt checks that a commit starts where the log ends.
func startsAt(from, end uint64) error {
	switch {
	case from < end:
		return fmt.Errorf("the log ends at %d, the commit starts at %d: %w", end, from, ErrApplied)
	case from > end:
		return invalid("commit: it starts at sequence %d, the log ends at %d", from, end)
	}
	return nil
}

// advance moves the head over the step's records. The log stays gap-free: with
// an open call nothing after the turn becomes visible.
func (h *Head) advance(seq uint64) error {
	if seq < h.Seq || seq > MaxSeq {
		return invalid("commit: sequence %d is before %d", seq, h.Seq)
	}
	if h.Run.Cursor != CursorTools {
		if seq > h.Seq { // else nothing is stored, and a run that starts still has its start before it
			h.Run.Step++
			h.Run.Cursor = CursorInfer
			h.Run.progress()
		}
		h.Seq = seq
		return nil
	}
	if h.Run.OpenCalls() {
		if seq != h.Seq {
			return invalid("commit: sequence %d while a call of the turn at %d is open", seq, h.Seq)
		}
		return nil
	}
	if last := h.Run.Base + uint64(len(h.Run.Calls)) - 1; seq < last {
		return invalid("commit: sequence %d leaves out results up to %d", seq, last)
	}
	h.Seq = seq
	h.Run.Cursor, h.Run.Base, h.Run.TurnFence, h.Run.Calls = CursorInfer, 0, 0, nil
	h.Run.Batch, h.Run.Round = false, 0
	h.Run.progress()
	return nil
}

// summarize puts a summary in force, never an older one. If the commit supersedes the
// log from the sequence cut on, a summary that covers some of that gives way to an
// older one, or to none. The log ended at from, and the record that supersedes is the
// first after it.
func (h *Head) summarize(upTo, cut, from uint64) error {
	if cut != 0 {
		h.Supersedes = from + 1
	}
	switch {
	case cut != 0 && from == h.Seq:
		return invalid("commit: no record supersedes the log from sequence %d on", cut)
	case cut > from:
		return invalid("commit: it supersedes the log from sequence %d on, which ends at %d", cut, from)
	case cut != 0 && upTo >= cut:
		return invalid("commit: summary up to sequence %d covers what is superseded from %d on", upTo, cut)
	case cut != 0 && h.Summary >= cut:
	case upTo == 0:
		return nil
	case upTo <= h.Summary || upTo > h.Seq:
		return invalid("commit: summary up to sequence %d, the one in force covers %d and the log ends at %d", upTo, h.Summary, h.Seq)
	}
	h.Summary = upTo
	return nil
}
