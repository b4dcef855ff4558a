package inference

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// The attempts at a turn are what its record keeps of the calls in this delivery. Those of
// earlier deliveries are gone with their process: Failures counts them. The times are the
// clock's, and nothing of the step depends on them.

// fails notes the newest call as one that has failed.
func (t *Turn) fails(reason string) {
	t.call.Reason = reason
	t.attempts = thread.KeepAttempt(t.attempts, t.call)
	t.call = thread.Attempt{}
}

// pauses notes the pause after the newest failure.
func (t *Turn) pauses(wait time.Duration) { t.attempts[len(t.attempts)-1].Wait = wait.Milliseconds() }

// Attempts returns the newest attempts at the turn, oldest first; nil on nil. A call that
// neither failed nor made the turn is the last one, with the reason.
func (t *Turn) Attempts(reason string) []thread.Attempt {
	if t == nil {
		return nil
	}
	if t.call.Began == 0 {
		return t.attempts
	}
	last := t.call
	last.Reason = reason
	return thread.KeepAttempt(slices.Clone(t.attempts), last)
}

// Tries returns what the turn's record says of its attempts: all of them, or, of the only
// one, how long after its start the first piece came, in milliseconds; 0: none came.
func (t *Turn) Tries() (all []thread.Attempt, first int64) {
	if len(t.attempts) > 0 {
		return t.Attempts(""), 0
	}
	if t.call.First != 0 {
		first = max(t.call.First-t.call.Began, 1)
	}
	return nil, first
}
