package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Interrupt ends everything that is open or queued on a thread, and puts nothing in its
// place: a [Submission] with [ModeInterrupt] does both in one write. Delayed runs stay. It
// raises the epoch, so that a worker with an older claim stops. When it returns without
// error that is durable; the open run then still closes, with results for its open calls.
//
// The receipt has the open run that ends with it (zero: none was open, or it was ending
// already), and how many queued runs it took out of the queue; delayed ones are not among
// them. A duplicate has done nothing: the same key had interrupted before, and the outcome of
// that is no longer known.
//
// dedupe makes it idempotent, for as long as the head remembers it (the newest 16 requests
// of the thread); empty: every call is a new one, and only its own attempts are recognized.
// thread.ErrNotFound: nothing is open or queued. thread.ErrForbidden: the thread is another
// user's.
func (s *Service) Interrupt(ctx context.Context, key core.ThreadKey, user, dedupe string) (Receipt, error) {
	// Also without a key of the caller's: an attempt whose response is lost must not be
	// confused with another interrupt.
	minted := dedupe == ""
	if minted {
		dedupe = s.env.NewID().String()
	}
	// seen is set at the first head: the epoch of that head is the target of all attempts.
	change, seen := thread.Interrupt{Owner: user, Dedupe: interruptKey(dedupe)}, false
	var came Receipt
	var known bool // the head remembers the key
	c := commit{w: &s.writer, key: key, choose: func(head thread.Head) thread.Change {
		if !seen { // what comes after another interrupt does not end with this one
			change.Epoch, seen = head.Epoch, true
		}
		known = slices.Contains(head.Recent, change.Dedupe)
		if head.Epoch != change.Epoch {
			return change // its outcome was seen at the previous attempt, if that was this call's
		}
		// The runs that the interrupt will end, from the head that it is tried on.
		if came = (Receipt{Superseded: len(head.Pending)}); head.Run.Status != thread.Closing {
			came.RunID = head.Run.ID
		}
		return change
	}}
	_, _, err := c.run(ctx, thread.Head{})
	switch {
	case err != nil:
		return Receipt{}, err
	case known && !minted: // no other call has a key that was made here
		return Receipt{Duplicate: true}, nil
	}
	return came, nil
}

// interruptKey is the head's form of an interrupt's key; never 0, which is not a key.
func interruptKey(key string) uint64 {
	sum := sha256.Sum256([]byte("interrupt\x00" + key))
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// superseded counts the queued runs that a transition has ended for an interrupt.
func superseded(result thread.Result) (n int) {
	for _, audit := range result.Before {
		if audit.Status == core.DispatchSuperseded {
			n++
		}
	}
	return n
}
