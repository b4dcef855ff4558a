package thread

import (
	"fmt"
	"math"

	"github.com/reveille-run/reveille/core"
)

// MaxWorkerName bounds the worker's name in a claim, in bytes.
const MaxWorkerName = 64

// TakeClaim takes the right to work on the thread. When another claim is live,
// or nothing may be done yet, Claimed is false; a Hint then says when to come
// back, and nothing is written unless the time at which the thread is due was
// wrong. An expired claim is taken over; overdue tickets and exhausted attempts
// turn the claim into one that closes the run.
//
// Where there is something to claim, ErrSchema refuses a program that does not
// understand a record of the thread, and ErrSuspect a claim that is not Alone
// of a run that may be what takes its process down.
type TakeClaim struct {
	Worker string
	Lease  int64 // milliseconds from now
	Alone  bool  // the process does nothing else meanwhile
}

func (c TakeClaim) apply(h *Head, t Transition) (Result, error) {
	if !h.Exists() {
		return Result{}, ErrNotFound
	}
	// The order matters. What there is to claim is found before anybody is refused,
	// so that a head with nothing to do refuses nobody; an end that is due comes
	// before the suspect, since closing counts its own claims.
	if h.Live(t.Now) {
		return Result{Unchanged: true}, nil
	}
	if h.Claim.Fence != 0 {
		h.takeBack(true)
	}
	if !h.Open() {
		list, i := h.best(t.Now)
		if list == nil {
			return h.early(t), nil
		}
		h.openRun(list, i)
	}
	var before []Audit
	switch {
	case h.overdue(t.Now):
		before = h.beginClosing(ReasonExpired, t)
	case !h.Ready() || h.Run.AvailableAt > t.Now:
		return h.early(t), nil
	case h.Run.Attempts >= MaxAttempts && h.Run.Status != Closing:
		before = h.beginClosing(ReasonDeadLetter, t)
		h.announce(t, OutboxDeadLettered, h.Run.ID)
	}
	if h.Schema > t.Schemas.Reads {
		return Result{}, fmt.Errorf("schema %d, newest known %d: %w", h.Schema, t.Schemas.Reads, ErrSchema)
	}
	if h.Suspect() && !c.Alone {
		return Result{}, fmt.Errorf("%d claims of run %s without progress: %w", h.Run.Attempts, h.Run.ID, ErrSuspect)
	}
	return Result{Claimed: true, Before: before}, h.hold(c.Worker, c.Lease, t)
}

// early is the result of a claim that found nothing to do yet. A due time that
// has passed without anything being due (the index keeps an early one) is
// written anew: else every sweep would wake the thread, and every wake-up
// would send itself again.
func (h *Head) early(t Transition) Result {
	late := h.DueAt <= t.Now && h.due(h.DueAt, t) > t.Now
	return Result{Unchanged: !late, Hint: h.wake(t.Now)}
}

// openRun takes the run of dispatch i out of the queue, or of the delayed ones.
func (h *Head) openRun(list *[]Dispatch, i int) {
	d := (*list)[i]
	*list = without(*list, i)
	h.Run = Run{ID: d.Run, Dispatch: d.ID, Revision: d.Revision, Child: d.Child}
	h.Inbox = d.Rest
}

// hold makes the claim itself. Attempts are counted here and nowhere else.
func (h *Head) hold(worker string, lease int64, t Transition) error {
	if worker == "" || len(worker) > MaxWorkerName {
		return invalid("claim: worker name of %d bytes, allowed are 1 to %d", len(worker), MaxWorkerName)
	}
	if lease <= 0 {
		return invalid("claim: lease of %d ms, must be positive", lease)
	}
	h.Run.Attempts = oneMore(h.Run.Attempts)
	h.Fence++
	h.Claim = Claim{Fence: h.Fence, Epoch: h.Epoch, Worker: worker, Lease: t.Now + lease, CommitID: t.CommitID}
	h.Run.AvailableAt = 0
	return nil
}

// uncount takes the standing claim's attempt back, unless progress has done so.
func (h *Head) uncount() {
	if h.Run.Attempts > 0 {
		h.Run.Attempts--
	}
}

// oneMore counts up, but never around.
func oneMore(n uint8) uint8 {
	if n == math.MaxUint8 {
		return n
	}
	return n + 1
}

// takeBack gives the claim up and makes the run claimable again, at once. The
// attempt stays counted. A claim that was lost, not given back, may have cost a
// model call, if it was to make one.
func (h *Head) takeBack(lost bool) {
	if lost {
		h.Run.Lost = oneMore(h.Run.Lost)
		if h.Run.Status != Closing { // of a closing run the write that ended it has said so
			h.loseRound()
		}
		if h.Run.Cursor != CursorTools && h.Run.Status != Closing {
			h.Run.ModelLost = oneMore(h.Run.ModelLost)
		}
	}
	h.Claim, h.Run.AvailableAt = Claim{}, 0
}

// overdue reports whether an undecided ticket of a waiting run has expired.
func (h *Head) overdue(now int64) bool {
	if !h.Open() || h.Run.Status != Waiting {
		return false
	}
	for _, t := range h.Tickets {
		if t.Decision == 0 && t.Deadline != 0 && t.Deadline <= now {
			return true
		}
	}
	return false
}

// Reclaim takes a claim back whose holder is known to be gone, without waiting
// for its lease: the local host at start, which owns the store's lock.
type Reclaim struct{}

func (Reclaim) apply(h *Head, t Transition) (Result, error) {
	if h.Claim.Fence == 0 {
		return Result{Unchanged: true, Hint: h.wake(t.Now)}, nil
	}
	h.takeBack(true)
	return Result{Hint: h.wake(t.Now)}, nil
}

// Refence gives the holder the next fence. It may then put other bytes at a
// name that it has used, which under the old fence would be a conflict: after a
// refused commit the records of the next try can differ. The attempt is not
// counted again. It also tells a worker whose lease is over whether its claim still
// stands, and renews it then.
type Refence struct {
	Fence uint64
	Lease int64 // milliseconds from now; 0: as it is
}

func (c Refence) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	h.Fence++
	h.Claim.Fence = h.Fence
	if c.Lease > 0 {
		h.Claim.Lease = max(h.Claim.Lease, t.Now+c.Lease)
	}
	return Result{}, nil
}

// Touch moves the version and nothing else. Who holds no claim and meets other
// bytes at the version of its own rewritable record takes the next version so.
type Touch struct{}

func (Touch) apply(h *Head, _ Transition) (Result, error) {
	if !h.Exists() {
		return Result{}, ErrNotFound
	}
	return Result{}, nil
}

// ExtendLease renews the holder's lease. ErrSuperseded and ErrClosing tell a
// holder that does not know it yet that its run was ended.
type ExtendLease struct {
	Fence   uint64
	Lease   int64 // milliseconds from now
	Closing bool  // the holder knows, and is closing the run
}

func (c ExtendLease) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	if !c.Closing {
		if h.Claim.Epoch != h.Epoch {
			return Result{}, ErrSuperseded
		}
		if h.Run.Status == Closing {
			return Result{}, ErrClosing
		}
	}
	h.Claim.Lease = max(h.Claim.Lease, t.Now+c.Lease)
	return Result{}, nil
}

// NackKind says why a claim is given back.
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
	AvailableAt int64        // 0: at once; a run that was ended meanwhile is to be closed at once, whatever this says
	Closing     bool         // the holder knows that the run is closing
	Calls       []CallStatus // as the step leaves them; nil: unchanged
	Progress    bool         // results were stored that Calls does not say are done yet
	Schema      uint16       // highest schema of a stored result that was met, read or not; 0: none was
	ModelFailed uint8        // model calls of the run that failed since the last progress, lost ones included
	RunEnd      bool         // of a closing run: RunEnd has run, and its [EndRecord] goes with this write
	Through     *uint32      // the calls of the open round that were let through and have no result, see Run.Through; nil: unchanged
	Followed    int64        // as in CommitStep
}

func (c Nack) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	if h.Run.Status != Closing {
		if err := h.settle(c.Calls, nil); err != nil {
			return Result{}, err
		}
		if c.Progress {
			h.progress()
		}
		if c.ModelFailed > h.Run.ModelFailed {
			h.Run.ModelFailed, h.Run.ModelLost = c.ModelFailed, 0
		}
		if c.Calls != nil {
			h.raise(t)
		}
	}
	if c.RunEnd && h.Run.Status == Closing {
		h.Run.RunEnd = h.next()
		h.raise(t)
	}
	h.keepThrough(c.Through)
	h.Schema = max(h.Schema, c.Schema) // also over what this program cannot read: it leaves the thread to one that can
	if c.Kind != NackFailed {
		h.uncount()
	}
	if c.Kind == NackLacks && h.Run.Status != Closing {
		h.Run.leaveToAnother(t.Now)
	}
	h.takeBack(false)
	if c.Closing || h.Run.Status != Closing {
		h.Run.AvailableAt = max(c.AvailableAt, 0)
	}
	var before []Audit
	if h.Run.Status != Closing && h.Run.Attempts >= MaxAttempts {
		before = h.beginClosing(ReasonDeadLetter, t)
		h.announce(t, OutboxDeadLettered, h.Run.ID)
	}
	return Result{Before: before, Hint: h.wakeFollowed(t.Now, c.Followed)}, nil
}

// held checks that fence is the current claim's.
func (h *Head) held(fence uint64) error {
	if fence == 0 || h.Claim.Fence != fence {
		return fmt.Errorf("fence %d, the thread's claim has %d: %w", fence, h.Claim.Fence, ErrFenced)
	}
	return nil
}

// working checks that fence holds the claim of a run that is not ending.
func (h *Head) working(fence uint64) error {
	if err := h.held(fence); err != nil {
		return err
	}
	if h.Run.Status == Closing {
		return ErrClosing
	}
	return nil
}

// beginClosing sets the open run to closing: its holder closes it, or whoever claims it
// next. Its tickets end with it. Input that no step has read ends too when a
// person ended the run; otherwise it is kept for the dispatch that removeRun makes
// of it.
func (h *Head) beginClosing(reason Reason, t Transition) []Audit {
	if h.Claim.Fence != 0 && reason != ReasonOwn { // its holder may die before it says so itself
		h.loseRound()
	}
	h.Run.Status, h.Run.Reason, h.Closing, h.ClosingAt = Closing, reason, h.next(), max(t.Now, 0)
	h.Run.AvailableAt = 0
	h.progress() // closing counts its own attempts
	h.Tickets = nil
	if reason == ReasonCancelled || reason == ReasonSuperseded {
		return h.dropInbox()
	}
	return nil
}

// dropInbox ends the open run's unread input, visibly.
func (h *Head) dropInbox() []Audit {
	audits := cancelled(h.Inbox, h.Run.ID)
	h.Inbox = nil
	return audits
}

func cancelled(entries []InboxEntry, run core.ID) (audits []Audit) {
	for _, e := range entries {
		audits = append(audits, Audit{ID: e.ID, Run: run, Status: core.DispatchCancelled})
	}
	return audits
}

// without returns list without its i-th element; list may be changed.
func without[T any](list []T, i int) []T {
	list = append(list[:i], list[i+1:]...)
	if len(list) == 0 {
		return nil
	}
	return list
}
