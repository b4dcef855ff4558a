package thread

// NackKind is the reason for releasing a claim.
type NackKind uint8

// The kinds. Only a failed one stays counted as an attempt.
const (
	NackFailed NackKind = iota // the step failed or its time was over
	NackGiven                  // it was not tried: the host stops, an entry was edited, a record is newer than the program
	NackModel                  // the model is to be called again; its failed calls are counted apart
	NackLacks                  // it was not tried: the program has not what the run's agent names; see Run.LacksSince
)

// Nack gives the work back, to be tried again at AvailableAt. At MaxAttempts
// the run is dead-lettered instead.
type Nack struct {
	Fence       uint64
	Kind        NackKind
	AvailableAt int64        // 0: immediately; a run that was ended in between is closed immediately, for every value
	Closing     bool         // the holder knows that the run is closing
	Calls       []CallStatus // as the step leaves them; nil: unchanged
	Progress    bool         // results were stored that Calls does not say are done yet
	Schema      uint16       // highest schema of a stored result that was met, read or not; 0: none was
	ModelFailed uint8        // model calls of the run that failed since the last progress, lost ones included
	// Failing is the time since when the provider of the run's model fails, in unix
	// milliseconds, see [Head.FailingSince]; 0: it does not; nil: unchanged.
	Failing  *int64
	RunEnd   bool    // of a closing run: RunEnd has run, and its [EndRecord] goes with this write
	Through  *uint32 // the calls of the open round that were let through and have no result, see Run.Through; nil: unchanged
	Followed int64   // as in CommitStep
}

func (c Nack) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	if h.Run.Status != Closing {
		if err := h.Run.moveCalls(c.Calls, &h.Tickets, nil); err != nil {
			return Result{}, err
		}
		if c.Progress {
			h.Run.progress()
		}
		if c.ModelFailed > h.Run.ModelFailed {
			h.Run.ModelFailed, h.Run.ModelLost = c.ModelFailed, 0
		}
		if c.Failing != nil {
			h.noteFailing(*c.Failing)
		}
		if c.Calls != nil {
			h.raise(t)
		}
	}
	if c.RunEnd && h.Run.Status == Closing {
		h.Run.RunEnd = h.next()
		h.raise(t)
	}
	h.Run.keepThrough(c.Through)
	h.Schema = max(h.Schema, c.Schema) // also over what this program cannot read: it leaves the thread to one that can
	if c.Kind != NackFailed {
		h.Run.uncount()
	}
	if c.Kind == NackLacks && h.Run.Status != Closing {
		h.Run.noteLacks(t.Now)
	}
	h.takeBack(false)
	if c.Closing || h.Run.Status != Closing {
		h.Run.AvailableAt = max(c.AvailableAt, 0)
	}
	if h.Run.Status != Closing && h.Run.Attempts >= MaxAttempts {
		h.beginClosing(ReasonDeadLetter, t)
		h.announce(t, OutboxDeadLettered, h.Run.ID)
	}
	return Result{Hint: h.wakeFollowed(t.Now, c.Followed)}, nil
}
