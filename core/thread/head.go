package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Limits of a head. Each has an error: ErrTooManyChildren for the children, ErrFull for
// the other tables, ErrTooLarge for the size.
const (
	MaxPending  = 8               // queued dispatches, with the ends of earlier ones that their parents are still to be told of
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
	maxQueued   = MaxPending + 1  // a dispatch made of steered input comes on top
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
	Owner          string  // user that made the thread, for good; empty: anyone of the tenant
	Deleted        bool
	Erased         bool   // the sweep removed what a deleted thread had
	Epoch          uint64 // +1 with every interrupt and delete
	Fence          uint64 // of the newest claim; never falls
	Seq            uint64 // the log is visible up to here
	Summary        uint64 // sequence that the summary in force covers; 0: none
	Supersedes     uint64 // sequence of the newest log record that takes the log's tail back; 0: none does
	// TailSum is a checksum of the log's records since its last turn, up to Seq; 0: none
	// was computed. No write of this program computes one, and one that moves Seq drops
	// it: a sum that does not fit would make readers doubt a whole log.
	TailSum    uint32
	Closing    uint64 // version of the newest write that began to close a run
	ClosingAt  int64  // when that was, or when the thread was deleted; 0: neither
	Run        Run    // the open run; zero ID: none
	Claim      Claim  // the live or expired claim; zero Fence: none
	Pending    []Dispatch
	Delayed    []Dispatch // those that were accepted for later, until they open
	Tickets    []Ticket
	Inbox      []InboxEntry
	Outbox     []OutboxEntry // what the thread owes others, oldest first
	Missed     uint16        // announcements that were dropped for want of place, since one last said how many
	Recent     []uint64      // dedupe keys and decisions, oldest first
	DueAt      int64         // when the sweep must look at the thread; 0: never
	Extensions []Extension
}

// Extension is a field that a newer program keeps in the head. Programs that do
// not know its tag carry it through. It belongs to the open run and is void with
// it: whoever reads it looks at Run first. All of them together are to stay under
// 512 bytes, for which the fullest head has room: a cancel, a decision or an end
// must never be refused for its size.
type Extension struct {
	Run   core.ID
	Tag   uint64
	Value []byte
}

// Cursor says where in a step the open run stands.
type Cursor uint8

// The cursors.
const (
	CursorStart Cursor = iota // nothing done yet: RunStart comes next
	CursorInfer               // an inference comes next
	CursorTools               // the turn is committed, its tool round is open
)

// Status of the open run.
type Status uint8

// The statuses. A closing run only waits for its closing records; readers see
// it as done.
const (
	Running Status = iota
	Waiting
	Closing
)

// Reason says why a run is closing.
type Reason uint8

// The reasons.
const (
	ReasonNone Reason = iota
	ReasonOwn         // an end that its step came to: the run record's ending says which
	ReasonCancelled
	ReasonSuperseded // by an interrupt
	ReasonExpired    // a ticket's deadline passed
	ReasonDeadLetter // MaxAttempts claims without progress
)

// Run is what a head holds of the open run; the run's record, which readers get,
// is a [core.Run]. Exactly one holds of it: a claim stands, it is ready (see
// [Head.Ready]), or it is Waiting, for a ticket that nobody has decided.
type Run struct {
	ID        core.ID
	Dispatch  core.ID // that brought it; its queued input is Q#<dispatch>#<revision>
	Revision  uint32  // of its queued input
	Status    Status
	Reason    Reason // of Closing
	Cursor    Cursor
	Step      uint32 // steps begun and committed
	Base      uint64 // sequence reserved for the result of call 0
	TurnFence uint64 // fence that the inference of the committed turn ran under
	Calls     []CallStatus
	Batch     bool    // it stays Waiting until every ticket is decided
	Round     uint64  // version of the head that put the open round's record in force; 0: none
	Child     bool    // a run of another thread waits for its end: see [RunRecord].Parent
	Through   Through // calls of the open round that may have been let through without a result
	// WaitsSince is since when the run has had a ticket that a person or a client
	// decides, in unix milliseconds, whether or not other calls of the round still run;
	// 0: it has none. It stays the same while such tickets come and go. Backends keep an
	// index of it, so that a tenant's tickets are found.
	WaitsSince int64
	// LacksSince is since when the run is left to another build, in unix milliseconds:
	// when one first gave it back for something of its agent that this build has not. 0:
	// no build has, or one that has everything has taken the run on since. It is in the
	// head, so that builds which know nothing of each other agree on how long that is.
	LacksSince int64
	// RunEnd is the version of the head that put the [EndRecord] in force; 0: RunEnd has
	// not run, or under a claim that was lost.
	RunEnd  uint64
	Stretch Stretch // since the last wait; zero Since: nobody has claimed the run who meters
	// Children are the runs of other threads that the run has started and that are not
	// over, at most MaxChildren. They are void with the run. No write of this program
	// lists one, and nothing follows from them yet.
	Children []core.ID

	// The continuation: the run's own next delivery. It is no pending dispatch
	// and takes none of their places.
	AvailableAt int64 // 0: at once
	//
	// Attempts are counted when a claim is taken and nowhere else. Progress resets
	// them: a turn, a step, a newly done call, a new ticket, a decision, and the
	// begin of closing, which counts its own.
	Attempts    uint8 // claims since the last progress, the standing one included
	Lost        uint8 // claims lost in the whole run; progress does not reset it
	ModelFailed uint8 // model calls that failed since the last progress
	ModelLost   uint8 // claims lost before a turn of the model was committed, since the last progress
}

// leaveToAnother notes that a build has given the run back for what it lacks of its
// agent, the first time.
func (r *Run) leaveToAnother(now int64) {
	if r.LacksSince == 0 {
		r.LacksSince = max(now, 1)
	}
}

// takenOn forgets that the run was left to another build, when one takes it on that has
// everything. One that goes on without, because it was waited for long enough, keeps it:
// nobody waits again.
func (r *Run) takenOn(lacks bool) {
	if !lacks {
		r.LacksSince = 0
	}
}

// CallStatus is the state of one call of the committed turn.
type CallStatus uint8

// The call statuses.
const (
	CallNew        CallStatus = iota
	CallRunning               // an at_most_once tool that may have started
	CallSuspended             // a ticket stands
	CallResuming              // decided: go on
	CallCancelling            // decided or superseded: write a cancelled result
	CallDone                  // its result is stored at Base + index, readable
)

// Claim is one worker's right to write log records and commit.
type Claim struct {
	Fence  uint64
	Epoch  uint64
	Worker string
	Lease  int64 // ends here
	// CommitID is that of the write that took the claim, whoever writes in between: see
	// [Head.TakenBy].
	CommitID core.ID
}

// Dispatch is queued work: a run that no worker has opened yet.
type Dispatch struct {
	ID          core.ID
	Run         core.ID
	Revision    uint32 // of its queued input
	Priority    uint8
	AvailableAt int64 // of a delayed one: when it may open; else 0
	Child       bool  // as in Run; never of a delayed one
	// Steered: it was given to a run that ended before a step read it. It opens
	// next whatever its priority, and Rest becomes its run's inbox.
	Steered bool
	Rest    []InboxEntry
}

// Ticket is the place in a head of a suspended call that waits for a decision. What
// is asked and decided lies in the records that [TicketKey] and [DecisionKey] name;
// a [core.Ticket] is made of them.
type Ticket struct {
	Call     uint8
	Kind     TicketKind
	ID       uint64 // see [TicketKey]; a call that suspends again has another
	Decision uint64 // see [DecisionKey]; 0: open
	Deadline int64  // 0: none
	// WakeAt is when the call is to go on by itself, unix milliseconds; 0: it waits for a
	// decision. This program writes none, and nothing follows from it yet: it makes no
	// thread due and decides no ticket.
	WakeAt int64
}

// TicketKind says who decides: [core.TicketKind] as one byte.
type TicketKind uint8

// The ticket kinds.
const (
	TicketPerson TicketKind = iota
	TicketClient            // a tool that the client runs
	TicketChild             // a child run
)

// InboxEntry is input that waits for the open run's next step. Its text is
// Q#<id>#<revision>.
type InboxEntry struct {
	ID       core.ID
	Revision uint32
	Kind     InboxKind
}

// InboxKind says where the input came from.
type InboxKind uint8

// The inbox kinds.
const (
	InboxPerson InboxKind = iota
	InboxInternal
)

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

// Ready reports whether the open run can go on, at AvailableAt, and nobody
// holds it.
func (h *Head) Ready() bool { return h.Open() && h.Claim.Fence == 0 && h.Run.Status != Waiting }

// Suspect reports whether the open run may be what takes its process down: so
// many claims brought no progress that the next one must have the process to
// itself.
func (h *Head) Suspect() bool { return h.Open() && h.Run.Attempts >= SuspectAt }

// TakenBy reports whether the write of a commit id took the claim that stands. Worker
// cannot say that: it names a process, two of whose deliveries would both take the claim
// for theirs. The head has the id for as long as the claim stands, whoever writes in
// between, so that a caller whose response was lost finds out whether it has the claim.
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
	if list, _ := h.find(run); list != nil {
		return core.RunCreated, true
	}
	return "", false
}

// OpenCalls reports whether a call of the turn lacks its result.
func (r *Run) OpenCalls() bool {
	return slices.ContainsFunc(r.Calls, func(s CallStatus) bool { return s != CallDone })
}

// owned checks that a transition comes from the thread's owner. The transitions that
// name a run, a call or an entry of the inbox (Cancel, Decide, Edit, Retract)
// do not ask: whoever knows the head has checked Owner, which never changes, and
// the sweep ends runs on nobody's behalf.
func (h *Head) owned(owner string) error {
	if h.Owner != "" && h.Owner != owner {
		return ErrForbidden
	}
	return nil
}

// Awaits reports whether a call of the committed turn may still come to wait: it has
// no result, and nobody went on without it.
func (r *Run) Awaits(call uint8) bool {
	if int(call) >= len(r.Calls) {
		return false
	}
	s := r.Calls[call]
	return s != CallDone && s != CallCancelling
}

// queued finds input that no step has read: an inbox entry, or a dispatch or
// the rest of one.
func (h *Head) queued(id core.ID) (revision *uint32) {
	in := func(entries []InboxEntry) *uint32 {
		for i := range entries {
			if entries[i].ID == id {
				return &entries[i].Revision
			}
		}
		return nil
	}
	if r := in(h.Inbox); r != nil {
		return r
	}
	for i := range h.Pending {
		if h.Pending[i].ID == id {
			return &h.Pending[i].Revision
		}
		if r := in(h.Pending[i].Rest); r != nil {
			return r
		}
	}
	for i := range h.Delayed {
		if h.Delayed[i].ID == id {
			return &h.Delayed[i].Revision
		}
	}
	return nil
}

// find returns the list of unopened runs that has one, and its place in it; nil: none
// has it.
func (h *Head) find(run core.ID) (list *[]Dispatch, i int) {
	is := func(d Dispatch) bool { return d.Run == run }
	if i := slices.IndexFunc(h.Pending, is); i >= 0 {
		return &h.Pending, i
	}
	if i := slices.IndexFunc(h.Delayed, is); i >= 0 {
		return &h.Delayed, i
	}
	return nil, -1
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
	if r := h.queued(id); r != nil {
		return *r, true
	}
	return 0, false
}

// seen reports whether a dedupe key or decision was accepted lately.
func (h *Head) seen(key uint64) bool { return key != 0 && slices.Contains(h.Recent, key) }

// remember makes seen true for key.
func (h *Head) remember(key uint64) {
	if key == 0 {
		return
	}
	if len(h.Recent) >= ringSize {
		h.Recent = slices.Delete(h.Recent, 0, 1)
	}
	h.Recent = append(h.Recent, key)
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
