package mailbox

import (
	"encoding/json"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Mode decides how new input is handled on a busy thread.
type Mode string

// The modes. A waiting run counts as busy.
const (
	ModeQueue     Mode = "queue"     // wait for the runs before it; the default
	ModeInterrupt Mode = "interrupt" // supersede it and everything queued
	ModeSteer     Mode = "steer"     // give it to the running run's next step; queue when none runs
	ModeReject    Mode = "reject"    // core.CodeBusy
)

// Check validates a mode that came from outside; empty is ModeQueue.
func (m Mode) Check() error {
	switch m {
	case "", ModeQueue, ModeInterrupt, ModeSteer, ModeReject:
		return nil
	}
	return core.Errorf(core.CodeInvalid, "mode %q is unknown, allowed are queue, interrupt, steer, reject", core.Excerpt(string(m)))
}

// maxRequest bounds [Opening.Request], in bytes: it is stored with the input, and
// again each time the run's record is.
const maxRequest = 16 << 10

// errRequestTooLarge is returned for an [Opening.Request] of more than maxRequest
// bytes.
var errRequestTooLarge = core.Errorf(core.CodeTooLarge, "request is larger than %d bytes", maxRequest)

const (
	maxMessage = 1 << 20 // bytes of a message, as messageSize counts them
	maxInput   = 1 << 20 // of all messages of a submission
)

var (
	// errMessageTooLarge is returned for a message of more than maxMessage bytes.
	errMessageTooLarge = core.Errorf(core.CodeTooLarge, "a message may have %d bytes of text and files, in base64: send large files by URL", maxMessage)
	// errInputTooLarge is returned for messages of more than maxInput bytes together.
	errInputTooLarge = core.Errorf(core.CodeTooLarge, "all messages of an input may have %d bytes together: send fewer, or large files by URL", maxInput)
)

// Submission is new input for a thread: its messages, its owner, and its mode. Its Opening
// describes the run that the input opens.
type Submission struct {
	Thread core.ThreadKey
	User   string // on whose behalf; sets or must match the thread's owner
	// Messages have role user. There is at least one, and they have at most 1,048,576 bytes
	// together, with files in base64. Empty ids are filled in.
	Messages []core.Message
	// Origin tells a user's input from the deployment's own. Internal input is also queued
	// after a run that waits, and does not change the tickets of that run.
	Origin core.Origin
	// Mode decides how the input is handled on a busy thread; internal input has only
	// ModeQueue.
	Mode Mode
	// Into is the run that the input is meant for. With [ModeSteer], and while that run
	// waits, the input goes to the inbox of that run only; if another run is open, it is
	// queued. Zero: any open run.
	Into core.ID
	// Answered reports that decisions of the same request came before: the input is for the
	// run that they resume, as with [ModeSteer]. The Key does not cover it, since a retry
	// of the request may find the calls decided.
	Answered bool
	// Key makes the submission idempotent. The zero Key: every submission is new.
	Key Key
	// Opening describes the run, in case the input opens a separate one. Input that goes
	// to the inbox of an open run does not use it, unless that run ends before it reads
	// the input, and the input then opens a run.
	Opening Opening
}

// Key is an idempotency key: a retry with the same Value on the same thread and with the same
// content returns the first receipt. With other content it is core.CodeConflict. The
// other fields reduce the content that counts.
type Key struct {
	Value string // empty: there is no key, and the other fields count for nothing
	// Loose excludes the request and the frontend from the content: a retry may bring others,
	// and those of the first attempt are used. It is for a key that a protocol
	// derives from its messages, whose clients send other fields each time.
	Loose bool
	// Alone excludes all content: the first attempt is used, with any content of a retry. It is
	// for a key that names the source of the submission, such as an event, when two deliveries
	// of that source may differ.
	Alone bool
	// Used requires that the key was used before. If the key is unused, or is forgotten,
	// nothing is stored, and the error is core.CodeInvalid.
	Used bool
}

// Opening describes the run that a submission opens.
type Opening struct {
	AgentID string // required, except with Retake
	// Request is what the caller sent for the run's hooks and tools: JSON, at most
	// 16,384 bytes; nil: nothing.
	Request json.RawMessage
	// Frontend is what the client program brings: tools that it runs, what it shows, the
	// state that it shares. nil: nothing.
	Frontend *core.Frontend
	// Priority of a queued run: 0 opens first, 255 last. Equal ones open in the order in
	// which they came; nil: 128.
	Priority *uint8
	// AvailableAt is the earliest time at which the run may start, unix milliseconds, and Delay
	// how long after its submission; 0: immediately. At most one of them is given, and at most
	// a year ahead. Delayed input always opens a separate run: it does
	// not steer or interrupt, and it does not reply to a run that waits. Until then it has
	// one of thread.MaxDelayed places, which are apart from those of the queue. It does
	// not make the thread busy before it is due, and is not affected by what ends the open
	// run or the queue.
	AvailableAt int64
	Delay       time.Duration
	// Supersede is a sequence of the thread's log: everything from it on is withdrawn
	// before the run starts, to repeat an earlier message or to replace it. It must be
	// the start of a run's input, else the submission is core.CodeInvalid. It may be
	// superseded already, or become so while the input is queued: the run then withdraws
	// what would come after it. 0: nothing.
	Supersede uint64
	// Retake names instead, by a message's id, the input that the run repeats or
	// replaces. Without Messages the run repeats it; else they replace the message and the
	// messages of the same input after it. AgentID and Request may be empty: they are the
	// earlier run's then. An empty Mode is [ModeInterrupt], since an open or queued run
	// would be withdrawn as soon as it is over; a run that waits is never resumed by it. A
	// message that the thread does not have is core.CodeNotFound; one that was superseded
	// before is core.CodeSuperseded; one that is not of the input with which a run
	// started, or that no run has started to read, is core.CodeConflict. nil: nothing.
	Retake *Retake
	// Parent receives the end of the run; see [Parent]. nil: no parent. Such input always opens
	// a separate run, so that it can only be queued.
	Parent *Parent
	// Fixed is what the parent's program has fixed of a child run. nil: nothing, as of a run
	// without a Parent.
	Fixed *Fixed
}

// Fixed is what of a child run is fixed before it is submitted.
type Fixed struct {
	// RunID is the id of the run, which its parent's head lists: see Parent.Listed. With a Key that
	// was used before, the run of that attempt counts. Zero: a new id.
	RunID core.ID
	// Resolution is the content hash of the agent that the run starts with, which is stored: see
	// core.Run.Resolution. Empty: the agent of the program that starts it.
	Resolution string
}

// Parent is the run of another thread of the tenant that started a run, and what waits
// for it there.
type Parent struct {
	// Thread is the parent's thread, of the same tenant.
	Thread string
	// Run is the run that started the child. Once it is over, the end is dropped.
	Run core.ID
	// Call is the index of the call in the open turn that waits for the child. It
	// suspends with a ticket of kind [core.TicketChild] whose suspension has the id of
	// the child run, and gets a [core.ChildEnd] as its decision. thread.NoCall: no call waits,
	// and the run reads of the end as internal input.
	Call uint8
	// ToolCall is the id of the call that started the child, as the model named it. It is
	// shown to clients only.
	ToolCall string
	// Listed means that the parent's head lists the child, so that the end of the parent ends
	// the child. A child that is first claimed after that end is cancelled then.
	Listed bool
	// Detached means that the child continues after the end of its parent.
	Detached bool
	// Root is the run at the top of the tree, which no call has started; zero: not known.
	Root core.ID
	// Agents are the ids of the agents from the root's to that of Run, oldest first, at most
	// core.MaxDepth; nil: not known.
	Agents []string
	// MaxTokens and Deadline are the child's share of the budget of Run: tokens, input and
	// output together, and a time in unix milliseconds. The child ends as a stop policy would
	// end it. 0: no limit.
	MaxTokens int64
	Deadline  int64
}

// check validates a parent; nil is valid. mode is the submission's: a child run is queued,
// and never interrupts or joins another.
func (p *Parent) check(mode Mode) error {
	switch {
	case p == nil:
		return nil
	case p.Run.IsZero():
		return core.Errorf(core.CodeInvalid, "parent: the run has no id")
	case p.Call >= thread.MaxCalls && p.Call != thread.NoCall:
		return core.Errorf(core.CodeInvalid, "parent: call %d, allowed are 0 to %d and %d", p.Call, thread.MaxCalls-1, thread.NoCall)
	case mode != "" && mode != ModeQueue:
		return core.Errorf(core.CodeInvalid, "parent: mode %q, a child run can only be queued", mode)
	case len(p.Agents) > core.MaxDepth:
		return core.Errorf(core.CodeInvalid, "parent: %d agents, at most %d are allowed", len(p.Agents), core.MaxDepth)
	case p.MaxTokens < 0 || p.Deadline < 0:
		return core.Errorf(core.CodeInvalid, "parent: %d tokens until %d, want 0 (no limit) or more", p.MaxTokens, p.Deadline)
	}
	for _, id := range p.Agents {
		if err := core.CheckName("parent: agent", id); err != nil {
			return err
		}
	}
	return core.CheckName("parent thread id", p.Thread)
}

// maxDelay is the longest delay between a submission and its run. Queued input is kept longer
// than that.
const maxDelay = 365 * 24 * time.Hour

// start is when the run may start, unix milliseconds; 0: immediately. A time that has
// passed is 0 too: the head must not compare the clocks of two machines for it.
func (o Opening) start(now int64) (int64, error) {
	at := o.AvailableAt
	if o.Delay > 0 {
		at = now + o.Delay.Milliseconds()
	}
	if at > now+maxDelay.Milliseconds() {
		return 0, core.Errorf(core.CodeInvalid, "available_at %d lies more than %s ahead", at, maxDelay)
	}
	if at <= now {
		return 0, nil
	}
	return at, nil
}

// Receipt describes the outcome of a submission, or of an interrupt.
type Receipt struct {
	ThreadID string
	// RunID is the run that reads the input, or has read it.
	RunID core.ID
	// DispatchID names the input: [Service.Edit] and [Service.Retract] take it.
	DispatchID core.ID
	// Running reports that the write claimed the run; otherwise it is queued, or was open.
	Running bool
	// Duplicate reports that the same submission had been accepted before.
	Duplicate bool
	// Superseded is how many queued runs an interrupt took out of the queue; 0 of a
	// duplicate.
	Superseded int
}
