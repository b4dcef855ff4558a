package thread

// Through lists the calls of the open round that a claim that is over, or under which
// the run was ended, may have let through to their tools: bit i is call i. Without a
// result the outcome of such a call is unknown.
//
// No write makes a usual call known before its tool starts. So a claim that is lost
// leaves the bit of each call that it could have started, and one that ends with a
// write lists them there.
type Through struct {
	May uint32
	// Ran are those of May that had started before the newest decision, or that a
	// claim has reported as started: a gate that ends the run now comes after them.
	// For the others, a gate that runs again decides whether they were let through.
	Ran uint32
}

// keepThrough puts a holder's word of the calls that were let through in the place of what
// the head says. A nil word leaves that, but for calls that have their result now.
func (r *Run) keepThrough(word *uint32) {
	if word != nil {
		r.Through = Through{*word, *word}
	}
	open := uint32(0)
	for i, s := range r.Calls {
		if s != CallDone {
			open |= 1 << i
		}
	}
	t := &r.Through
	t.May &= open
	t.Ran &= t.May
}

// startable are the calls that the standing claim may have started, and that no write
// would tell of.
func (r *Run) startable() (calls uint32) {
	for i, s := range r.Calls {
		if s == CallNew || s == CallResuming {
			calls |= 1 << i
		}
	}
	return calls
}

// loseRound notes the calls that a claim may have started and can no longer report.
func (r *Run) loseRound() { r.Through.May |= r.startable() }
