package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Limits of a head. Each has an error: ErrTooManyChildren for the children, ErrFull for
// the other tables, ErrTooLarge for the size.
const (
	MaxPending  = 8               // queued dispatches, with the ends of earlier ones that their parents do not know yet
	MaxDelayed  = 8               // delayed dispatches
	MaxTickets  = 8               // open tickets
	MaxInbox    = 8               // inbox entries
	MaxCalls    = 32              // tool calls of one turn
	MaxChildren = 16              // open children of the open run
	MaxAttempts = 5               // claims without progress before a run is dead-lettered
	SuspectAt   = 2               // claims without progress after which a run goes alone
	SkipRunEnd  = 3               // the claim of a closing run that runs no RunEnd hook any more
	MaxSize     = 4096            // bytes of an encoded head
	MaxSeq      = 999_999_999_999 // the names of log records have twelve digits
	maxQueued   = MaxPending + 1  // a dispatch from steered input comes on top
	ringSize    = 16              // remembered dedupe keys and decisions
)

// Layout is the newest layout of an encoded head that this program understands.
const Layout = 1

// Head is the one record of a thread that races. The zero Head is a thread
// that does not exist yet. Times are unix milliseconds.
type Head struct {
	Layout         uint8   // of its encoded form
	Schema         uint16  // highest schema of a record that it covers, queues or names; never falls
	Version        uint64  // +1 with every write
	CommitID       core.ID // of the last write: tells whether a write whose response was lost was applied
	HolderCommitID core.ID // of the last commit by a claim's holder: see [ChangeKind]; no other write hides it
	Incarnation    uint64  // part of cache keys; fixed at creation: see [Head.Created]
	Owner          string  // user that made the thread, permanently; empty: every user of the tenant
	Deleted        bool
	Erased         bool   // the sweep removed what a deleted thread had
	Epoch          uint64 // +1 with every interrupt and delete
	Fence          uint64 // of the newest claim; never falls
	Seq            uint64 // the log is visible up to here
	Summary        uint64 // sequence that the summary in force covers; 0: none
	Supersedes     uint64 // sequence of the newest log record that takes the log's tail back; 0: none does
	// TailSum is the checksum of the log's records since its last turn, up to Seq: see
	// [NextSum]. 0: none is known, as after a write that moved Seq without one. A
	// wrong one would make readers report a damaged log.
	TailSum    uint32
	Closing    uint64 // version of the newest write that began to close a run
	ClosingAt  int64  // when that was, or when the thread was deleted; 0: neither
	Run        Run    // the open run; zero ID: none
	Claim      Claim  // the live or expired claim; zero Fence: none
	Pending    []Dispatch
	Delayed    []Dispatch // those that were accepted for later, until they open
	Tickets    Tickets
	Inbox      Inbox
	Outbox     Outbox // what the thread owes others, oldest first
	Missed     uint16 // announcements that were dropped for want of place, since one last said how many
	Recent     Recent // dedupe keys and decisions, oldest first
	DueAt      int64  // when the sweep must look at the thread; 0: never
	SecondAt   int64  // when the newest second hint comes; 0: none is on its way
	Extensions []Extension
}

// Extension is a field that a newer program keeps in the head. Programs that do not
// know its tag carry it through. It belongs to the open run and is void with it: its
// reader must look at Run first. All of them together must stay under 512 bytes,
// which the fullest head can still take: a cancel, a decision or an end must never be
// refused for its size.
type Extension struct {
	Run   core.ID
	Tag   uint64
	Value []byte
}

// Recent is a ring of the dedupe keys and decisions that were accepted lately, oldest first.
type Recent []uint64

// has reports whether a key is in the ring; 0, which is not a key, never is.
func (r Recent) has(key uint64) bool { return slices.Contains(r, key) }

// add puts a key into the ring, in the place of the oldest one when it is full.
func (r *Recent) add(key uint64) {
	if key == 0 {
		return
	}
	if len(*r) >= ringSize {
		*r = slices.Delete(*r, 0, 1)
	}
	*r = append(*r, key)
}

// Exists reports whether the thread was ever written.
func (h *Head) Exists() bool { return h.Version != 0 }

// next is the version of the write that a change becomes; Apply sets it last, so
// that a change still sees whether the thread exists.
func (h *Head) next() uint64 { return h.Version + 1 }

// Open reports whether a run is open.
func (h *Head) Open() bool { return !h.Run.ID.IsZero() }

// Busy reports whether new input would have to wait at the time now: a run is open or
// queued, or a delayed one is due.
func (h *Head) Busy(now int64) bool {
	return h.Open() || len(h.Pending) > 0 || slices.ContainsFunc(h.Delayed, func(d Dispatch) bool { return d.AvailableAt <= now })
}

// Ready reports whether the open run can continue, at AvailableAt, and no claim holds
// it.
func (h *Head) Ready() bool { return h.Open() && h.Claim.Fence == 0 && h.Run.Status != Waiting }

// Suspect reports whether the open run may be what takes its process down: so
// many claims brought no progress that the next one must have the process to
// itself.
func (h *Head) Suspect() bool { return h.Open() && h.Run.Attempts >= SuspectAt }

// TakenBy reports whether the write of a commit id took the present claim. Worker
// cannot tell that: it names a process, two of whose deliveries would both take the
// claim for theirs. The head has the id for as long as the claim exists, also after
// writes of others. So a caller whose response was lost finds out whether it has the
// claim.
func (h *Head) TakenBy(commit core.ID) bool {
	return h.Claim.Fence != 0 && !commit.IsZero() && h.Claim.CommitID == commit
}

// Live reports whether a claim holds at the time now.
func (h *Head) Live(now int64) bool { return h.Claim.Fence != 0 && h.Claim.Lease >= now }

// RunStatus returns the status for a run that the head knows; ok is false
// when it knows nothing of it.
func (h *Head) RunStatus(run core.ID) (status core.RunStatus, ok bool) {
	if run == h.Run.ID && h.Open() {
		switch h.Run.Status {
		case Waiting:
			return core.RunWaiting, true
		case Closing:
			return core.RunDone, true
		}
		return core.RunRunning, true
	}
	if list, _ := h.queue().find(run); list != nil {
		return core.RunCreated, true
	}
	return "", false
}

// owned checks that a transition comes from the thread's owner. The transitions that
// name a run, a call or an entry of the inbox (Cancel, Decide, Edit, Retract) do not
// ask: a caller that knows the head has checked Owner, which never changes, and the
// sweep ends runs without a user.
func (h *Head) owned(owner string) error {
	if h.Owner != "" && h.Owner != owner {
		return ErrForbidden
	}
	return nil
}

// unread finds input that no step has read, an inbox entry, or a dispatch or the rest of
// one, and returns its revision; nil: none.
func (h *Head) unread(id core.ID) (revision *uint32) {
	if _, in := h.inboxOf(id); in != nil {
		return &(*in)[in.find(id)].Revision
	}
	if d := h.queue().dispatch(id); d != nil {
		return &d.Revision
	}
	return nil
}

// Unopened are the dispatches that no worker has opened: the queue, then the delayed
// ones. The list is not to be changed.
func (h *Head) Unopened() []Dispatch {
	if len(h.Delayed) == 0 {
		return h.Pending
	}
	return slices.Concat(h.Pending, h.Delayed)
}

// Queues reports whether the head holds input of the id that no step has read,
// and at which revision.
func (h *Head) Queues(id core.ID) (revision uint32, ok bool) {
	if r := h.unread(id); r != nil {
		return *r, true
	}
	return 0, false
}

// clone returns a head that shares no memory with h.
func (h *Head) clone() Head {
	n := *h
	n.Run.Calls = slices.Clone(h.Run.Calls)
	n.Run.Children = slices.Clone(h.Run.Children)
	n.Pending = slices.Clone(h.Pending)
	for i, d := range n.Pending {
		n.Pending[i].Rest = slices.Clone(d.Rest)
	}
	n.Delayed = slices.Clone(h.Delayed)
	n.Tickets = slices.Clone(h.Tickets)
	n.Inbox = slices.Clone(h.Inbox)
	n.Outbox = slices.Clone(h.Outbox)
	n.Recent = slices.Clone(h.Recent)
	n.Extensions = slices.Clip(h.Extensions) // they are shared, and never changed
	return n
}

// without returns list without its i-th element; list may be changed.
func without[T any](list []T, i int) []T {
	list = append(list[:i], list[i+1:]...)
	if len(list) == 0 {
		return nil
	}
	return list
}
