package run

import (
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// During a release two builds work on one queue, and the older one meets runs of
// the newer: with an agent or a call of a tool that it does not have. A rollback is
// the same the other way round. The build releases such a run, uncounted, and
// nothing of it is lost; the head has the time since when (thread.Run.LacksSince),
// since no build knows what others are there. After that time the run no longer
// waits for another build: a call without a tool gets an error result, and a run
// without its agent ends.

// How soon another build is looked for: as long as it has been looked for, within these.
// A gradual release gives few of the first wake-ups to the build that has everything.
const (
	leftPause = 5 * time.Second
	leftCap   = 30 * time.Second
)

// lacking is something of the run's agent that this build has not, and another may have.
type lacking struct{ cause error }

func (l *lacking) Error() string { return "released for another build: " + l.cause.Error() }

func (l *lacking) Unwrap() error { return l.cause }

// leaves reports whether another build is still waited for. A run that closes waits for
// none.
func (h *holder) leaves() bool {
	if h.s.leaveFor <= 0 || h.head.Run.Status == thread.Closing {
		return false
	}
	since := h.head.Run.LacksSince
	return since == 0 || h.stepBegan-since < h.s.leaveFor.Milliseconds()
}

// goWithout is the error that leaves the run to another build; nil: the waiting
// time is over, and the step continues without.
func (h *holder) goWithout(cause error) error {
	if h.leaves() {
		return &lacking{cause}
	}
	h.lacks = true
	return nil
}

// leftUntil is when a run that is released for a part that this build lacks is
// looked at again: by the next build that comes, and for the last time when the
// waiting time is over.
func (h *holder) leftUntil() int64 {
	now := h.env.Millis()
	since := h.head.Run.LacksSince
	if since == 0 {
		since = now
	}
	pause := min(max(now-since, leftPause.Milliseconds()), leftCap.Milliseconds())
	return min(now+pause, max(now, since+h.s.leaveFor.Milliseconds()))
}
