package mailbox

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Mode says what new input does on a busy thread.
type Mode string

// The modes. A waiting run counts as busy.
const (
	ModeQueue     Mode = "queue"     // wait behind it; the default
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

// MaxRequest bounds [Submission.Request], in bytes: it is stored with the input, and
// each time that the run's record is.
const MaxRequest = 16 << 10

// ErrRequestTooLarge is returned for a [Submission.Request] of more than [MaxRequest]
// bytes.
var ErrRequestTooLarge = core.Errorf(core.CodeTooLarge, "request is larger than %d bytes", MaxRequest)

// Submission is new input for a thread.
type Submission struct {
	Thread   core.ThreadKey
	User     string // on whose behalf; sets or must match the thread's owner
	AgentID  string
	Messages []core.Message // role user; at least one. Empty ids are filled in
	// Mode says what it does on a busy thread; of internal input that is ModeQueue alone.
	Mode Mode
	// Origin says who submits. What is internal queues also behind a run that waits,
	// whose tickets it leaves alone.
	Origin core.Origin
	// Request is what the caller sent along for the run's hooks and tools: JSON, at
	// most [MaxRequest] bytes; nil: nothing. A run has the request that it was started
	// with: that of input that goes to the inbox of an open run does not reach it, and
	// counts only when the run has ended first and the input opens one of its own.
	Request json.RawMessage
	// Frontend is what the program in front of the person brings: tools that it runs, what
	// it shows, the state that it shares. Like Request it counts only for input that opens
	// a run. nil: nothing.
	Frontend *core.Frontend
	// Key makes the submission idempotent: the same key on the same thread with the
	// same content returns the first receipt, with other content it is
	// core.CodeConflict. Empty: every submission is new.
	Key string
	// RequestBesideKey says that the Key stands for the submission without its Request and
	// its Frontend: another try may bring another one, and that of the first counts. It is for a key
	// that a protocol makes of its messages, whose clients send other fields each time.
	RequestBesideKey bool
	// Answered says that decisions of the same request came before: the input is for the
	// run that they let go on, as with [ModeSteer]. The Key does not stand for it, since
	// the same request may find the calls decided.
	Answered bool
	// KeyAlone says that the Key stands for the submission by itself: whatever another
	// try says, the first counts. It is for a key that names what the submission is made
	// of, such as an event, when what is made of it may change between two deliveries.
	KeyAlone bool
	// Again says that the Key was used before: where it was not, or is forgotten, nothing
	// is stored, and it is core.CodeInvalid.
	Again bool
	// Priority of a queued run: 0 opens first, 255 last, and equal ones in the order in
	// which they came; nil: core.DefaultPriority. Like Request it counts only for input
	// that opens a run.
	Priority *uint8
	// AvailableAt is when the run may begin at the earliest, unix milliseconds, and
	// Delay how long after it was submitted; 0: at once. At most one of them is given,
	// and at most [MaxDelay] ahead. Delayed input always opens a run of its own: it
	// neither steers nor interrupts, nor does it answer a run that waits. Until it opens it
	// has one of thread.MaxDelayed places, beside those of the queue; the thread is not
	// busy for it before it is due, and what ends the open run or the queue leaves it.
	AvailableAt int64
	Delay       time.Duration
	// Into is the run that the input is meant for: with [ModeSteer], and where it
	// waits, it goes to the inbox of that run alone. Where another run is open it is
	// queued. Zero: whichever run is open.
	Into core.ID
	// Supersede is the sequence of the thread's log from which on everything is
	// taken back before the run begins: to say an earlier message again, or
	// another in its place. It must be where a run's input begins, else the
	// submission is core.CodeInvalid; it may be superseded by then, or be while the
	// input is queued: the run takes back what would be behind it. 0: nothing. It
	// counts only for input that opens a run.
	Supersede uint64
	// Retake names instead, by a message's id, the input that the run says again or
	// replaces. Without Messages it says the same again; else they take the place of the
	// message and of all that was said with it behind it. AgentID and Request may be
	// empty: they are the earlier run's then. An empty Mode is [ModeInterrupt], since
	// whatever is open or queued would be taken back as soon as it is over; a run that
	// waits is never gone on with. A message that the thread does not have is
	// core.CodeNotFound; one that was superseded before core.CodeSuperseded; one that
	// is not of the input with which a run began, or that no run has begun to read,
	// core.CodeConflict. nil: nothing.
	Retake *Retake
	// Parent is told when the run is over; see [Parent]. nil: nobody is. Such input
	// always opens a run of its own, so that it can only be queued.
	Parent *Parent
}

// Parent is the run of another thread of the tenant that started a run, and what waits
// for it there.
type Parent struct {
	Thread string
	Run    core.ID
	// Call is the index of the call in the open turn that waits for the child. It
	// suspends with a ticket of kind [core.TicketChild] whose suspension has the id of
	// the child run, and gets a [core.ChildEnd] as its decision. thread.NoCall: nobody
	// waits, and the run reads of the end as internal input.
	Call uint8
}

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
	}
	return core.CheckName("parent thread id", p.Thread)
}

// Check validates a submission before anything is stored.
func (s Submission) Check() error {
	if err := s.Thread.Check(); err != nil {
		return err
	}
	if s.User != "" {
		if err := core.CheckName("user", s.User); err != nil {
			return err
		}
	}
	if s.Retake != nil {
		if err := s.Retake.check(s); err != nil {
			return err
		}
	}
	if s.AgentID == "" && s.Retake == nil {
		return core.Errorf(core.CodeInvalid, "agent id is empty")
	}
	if s.Retake == nil || s.Messages != nil {
		if err := checkMessages(s.Messages); err != nil {
			return err
		}
	}
	if err := checkRequest(s.Request); err != nil {
		return err
	}
	if err := s.Frontend.Check(); err != nil {
		return err
	}
	if err := s.Mode.Check(); err != nil {
		return err
	}
	if s.Origin == core.OriginInternal && s.Mode != "" && s.Mode != ModeQueue {
		return core.Errorf(core.CodeInvalid, "mode %q of internal input, allowed is queue", string(s.Mode))
	}
	if err := s.Origin.Check(); err != nil {
		return err
	}
	if err := s.Parent.check(s.Mode); err != nil {
		return err
	}
	return s.checkDelay()
}

// MaxDelay is how far ahead of its submission a run may be asked to begin. Queued
// input is kept longer than that.
const MaxDelay = 365 * 24 * time.Hour

// checkDelay looks at what needs no clock; see [Submission.from].
func (s Submission) checkDelay() error {
	switch {
	case s.AvailableAt < 0:
		return core.Errorf(core.CodeInvalid, "available_at is %d, allowed are unix milliseconds from 0 on", s.AvailableAt)
	case s.Delay < 0 || s.Delay > MaxDelay:
		return core.Errorf(core.CodeInvalid, "delay of %s, allowed are 0 to %s", s.Delay, MaxDelay)
	case s.AvailableAt != 0 && s.Delay != 0:
		return core.Errorf(core.CodeInvalid, "both available_at and a delay are given, at most one is allowed")
	case (s.AvailableAt != 0 || s.Delay != 0) && (s.Mode == ModeSteer || s.Mode == ModeInterrupt):
		return core.Errorf(core.CodeInvalid, "input of mode %s cannot be delayed, only queue and reject can", s.Mode)
	case (s.AvailableAt != 0 || s.Delay != 0) && s.Parent != nil:
		return core.Errorf(core.CodeInvalid, "a child run cannot be delayed: its parent waits for it")
	}
	return nil
}

// from is when the run may begin, unix milliseconds; 0: at once. Work that is due is
// at once: the head must not compare the clocks of two machines for it.
func (s Submission) from(now int64) (int64, error) {
	at := s.AvailableAt
	if s.Delay > 0 {
		at = now + s.Delay.Milliseconds()
	}
	if at > now+MaxDelay.Milliseconds() {
		return 0, core.Errorf(core.CodeInvalid, "available_at %d lies more than %s ahead", at, MaxDelay)
	}
	if at <= now {
		return 0, nil
	}
	return at, nil
}

func checkRequest(request json.RawMessage) error {
	switch {
	case len(request) > MaxRequest:
		return fmt.Errorf("%w: it has %d", ErrRequestTooLarge, len(request))
	case request != nil && !(json.Valid(request) && utf8.Valid(request)): // json.Valid lets every byte pass inside a string
		return core.Errorf(core.CodeInvalid, "request is not JSON")
	}
	return nil
}

func checkMessages(messages []core.Message) error {
	if len(messages) == 0 {
		return core.Errorf(core.CodeInvalid, "messages are empty, at least one is required")
	}
	for i, m := range messages {
		if m.Role != core.RoleUser {
			return core.Errorf(core.CodeInvalid, "messages[%d]: role %q, only user messages can be submitted", i, core.Excerpt(string(m.Role)))
		}
		if err := checkContent(fmt.Sprintf("messages[%d].content", i), m.Content); err != nil {
			return err
		}
		if m.ID != "" {
			if err := core.CheckName(fmt.Sprintf("messages[%d]: id", i), m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkContent wants a text or a file, and nothing that only a model says.
func checkContent(at string, content []core.Block) error {
	something := false
	for i, b := range content {
		switch b.Type {
		case core.BlockText:
			something = something || !core.Blank(b.Text)
		case core.BlockFile:
			if err := b.CheckFile(fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
			something = true
		default:
			return core.Errorf(core.CodeInvalid, "%s[%d]: type %q, allowed are text and file", at, i, core.Excerpt(string(b.Type)))
		}
	}
	if !something {
		return core.Errorf(core.CodeInvalid, "%s has no text and no file", at)
	}
	return nil
}

// Receipt says what became of a submission.
type Receipt struct {
	ThreadID   string
	RunID      core.ID
	DispatchID core.ID
	Running    bool // the run was claimed at once; otherwise it is queued
	Duplicate  bool // the same submission had been accepted before
	Superseded int  // queued runs that an interrupt took out of the queue; 0 of a duplicate
}
