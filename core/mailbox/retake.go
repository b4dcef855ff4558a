package mailbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Retake says which input of a thread a submission says again, or says something
// else in the place of. The run takes back all that the thread has from there on:
// its messages are superseded, and its state is what it was before them.
//
// What is named is looked up when the submission comes, and stays what it was then:
// input that was accepted before the run is taken back with the rest, input that is
// accepted after it comes behind it. Two that name the same end with the later one's.
type Retake struct {
	// Message is the id of a message of the thread, of the newest if several have it.
	// Of input it means that input; of a turn or a result the input before it, which
	// can be said again, but not replaced.
	Message string
	// Keyed makes a submission without a Key idempotent, for clients that have no key:
	// it is the same as another that says the same in the place of the same run's input,
	// as long as the run that this one began is queued or runs. One that waits, or is
	// over, is taken back itself.
	Keyed bool
}

// check validates a submission that takes something back.
func (r *Retake) check(s Submission) error {
	if err := core.CheckName("message to take back to", r.Message); err != nil {
		return err
	}
	switch {
	case s.Opening.Supersede != 0:
		return core.Errorf(core.CodeInvalid, "a submission names a message or a sequence to take back to, not both")
	case !s.Into.IsZero():
		return core.Errorf(core.CodeInvalid, "input for run %s takes nothing back", s.Into)
	case s.Mode == ModeSteer:
		return core.Errorf(core.CodeInvalid, "mode steer takes nothing back, allowed are queue, interrupt, reject")
	case r.Keyed && s.Key.Value != "":
		return core.Errorf(core.CodeInvalid, "a submission is keyed by its Key or by what it takes back, not both")
	}
	return nil
}

// taken is the input that a Retake names.
type taken struct {
	run   core.ID // whose input it is
	input []core.Message
	named int    // index in input of the message that was named; -1: another was, behind it
	from  uint64 // sequence from which on the log is taken back

	agent   string // of the run, as far as it is known
	request []byte
	// frontend is what its frontend brought, but for its state.
	frontend *core.Frontend

	gone  bool    // it is superseded
	fresh bool    // the run is queued or runs
	of    core.ID // the run that this one took back itself
}

// retake finds what the submission names, once: what is found holds for every later
// head too.
func (u *submission) retake(ctx context.Context, head thread.Head) (err error) {
	if u.Opening.Retake == nil || u.taken != nil {
		return nil
	}
	t, ok, err := u.unreadInput(ctx, head)
	if err == nil && !ok {
		t, err = u.readInput(ctx, head)
	}
	if err != nil {
		return fmt.Errorf("thread %s: message %q: %w", u.Thread.Thread, core.Excerpt(u.Opening.Retake.Message), err)
	}
	u.taken = t
	return nil
}

// anew makes the submission's input of what it takes back.
func (u *submission) anew(ctx context.Context, head thread.Head) error {
	if u.Opening.Retake == nil {
		return nil
	}
	if err := u.retake(ctx, head); err != nil {
		return err
	}
	t := u.taken
	switch {
	case t.gone:
		return u.errGone()
	case u.asked.Messages == nil:
		u.Messages = t.input
	case t.named < 0:
		return core.Errorf(core.CodeInvalid, "thread %s: message %q is not a person's: it can be said again, but not replaced", u.Thread.Thread, core.Excerpt(u.Opening.Retake.Message))
	default: // what was said with it before it stays
		u.Messages = append(slices.Clone(t.input[:t.named]), u.asked.Messages...)
	}
	if u.Opening.AgentID == "" {
		if t.agent == "" {
			return core.Errorf(core.CodeInvalid, "agent id is empty, and the one of run %s is not known any more", t.run)
		}
		u.Opening.AgentID = t.agent
	}
	if u.Opening.Request == nil {
		u.Opening.Request = t.request
	}
	if u.Opening.Frontend == nil {
		u.Opening.Frontend = t.frontend
	}
	u.Opening.Supersede = t.from
	return nil
}

func (u *submission) errGone() error {
	return core.Errorf(core.CodeSuperseded, "thread %s: message %q was taken back before", u.Thread.Thread, core.Excerpt(u.Opening.Retake.Message))
}

// ErrUnread refuses to take back to input that no run has begun to read: there is nothing
// to take back. [Service.Edit] changes it.
var ErrUnread = core.Errorf(core.CodeConflict, "no step has read it yet: it can be edited as queued input, not taken back")

// ErrUnderWay refuses to take back to input that was said to a run that had begun, and
// to what answers such: that run's beginning would lose its end.
var ErrUnderWay = core.Errorf(core.CodeConflict, "it was said to a run that was under way, or answers what was: allowed is the input with which a run began")

// unreadInput looks for the message in what the head holds and the log does not. The
// open run may have read its input, and not committed it: it will stand right behind
// the log, whatever becomes of the run.
func (u *submission) unreadInput(ctx context.Context, head thread.Head) (*taken, bool, error) {
	look := func(run, dispatch core.ID, revision uint32) (*taken, thread.Queued, error) {
		in, err := u.queuedInput(ctx, dispatch, revision)
		i := slices.IndexFunc(in.Messages, func(m core.Message) bool { return m.ID == u.Opening.Retake.Message })
		if err != nil || i < 0 {
			return nil, in, err
		}
		return &taken{
			run: run, input: plain(in.Messages), named: i, from: in.Supersede,
			agent: in.AgentID, request: in.Request, frontend: in.Frontend.Stateless(), fresh: run != head.Run.ID || head.Run.Status == thread.Running, of: in.Retakes,
		}, in, nil
	}
	for _, d := range slices.Backward(head.Unopened()) {
		t, in, err := look(d.Run, d.ID, d.Revision)
		if err != nil || t != nil && in.Supersede != 0 {
			return t, t != nil, err
		}
		if t != nil {
			return nil, false, ErrUnread
		}
	}
	for _, e := range head.Inbox {
		if t, _, err := look(head.Run.ID, e.ID, e.Revision); err != nil || t != nil {
			return nil, false, orUnread(err)
		}
	}
	if !head.Open() || head.Run.Cursor != thread.CursorStart {
		return nil, false, nil
	}
	t, in, err := look(head.Run.ID, head.Run.Dispatch, head.Run.Revision)
	if t != nil && in.Supersede == 0 {
		t.from = head.Seq + 1
	}
	return t, t != nil, err
}

func orUnread(err error) error {
	if err == nil {
		return ErrUnread
	}
	return err
}

// queuedInput reads queued input; one that is lost says nothing.
func (s *submission) queuedInput(ctx context.Context, dispatch core.ID, revision uint32) (in thread.Queued, err error) {
	record, ok, err := s.store.Get(ctx, s.Thread, store.InputName(dispatch, revision))
	if err != nil || !ok {
		return in, err
	}
	return s.records.DecodeQueued(record.Payload)
}

// readInput looks for the message in the log, from its end: what people take back is
// seldom far from it. A message that the thread does not have costs a read of all.
func (u *submission) readInput(ctx context.Context, head thread.Head) (*taken, error) {
	named, ok, err := u.lastOf(ctx, head.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.ID == u.Opening.Retake.Message })
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, "not found")
	}
	asked, ok, err := u.lastOf(ctx, named.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.IsInput() })
	if err != nil {
		return nil, err
	}
	if !ok { // a log begins with input, but for one that was forked behind it
		return nil, ErrUnderWay
	}
	of := func(e *thread.Entry) bool {
		return e.Run == asked.Run && e.Input == asked.Input && e.Message != nil && e.Message.Role == core.RoleUser
	}
	before, ok, err := u.lastOf(ctx, asked.Seq-1, func(e *thread.Entry) bool { return !of(e) })
	if err != nil {
		return nil, err
	}
	if ok && before.Run == asked.Run && before.Superseded == nil {
		return nil, ErrUnderWay
	}
	t := &taken{run: asked.Run, named: -1, from: before.Seq + 1}
	for e, err := range store.Entries(ctx, u.store, u.records, u.Thread, t.from, head.Seq) {
		if err != nil {
			return nil, err
		}
		if !of(&e.Entry) {
			break
		}
		if e.Seq == named.Seq {
			t.named = len(t.input)
		}
		t.input = append(t.input, *e.Message)
	}
	t.input = plain(t.input)
	if err := u.aboutRun(ctx, head, t); err != nil {
		return nil, err
	}
	ranges, err := store.Superseded(ctx, u.store, u.records, u.Thread, head.Supersedes, t.from-1)
	t.gone = slices.ContainsFunc(ranges, func(r thread.Range) bool { return r.From <= t.from && t.from <= r.To })
	return t, err
}

// aboutRun adds what is known of the run: a thread that was forked has no records of
// the runs before.
func (u *submission) aboutRun(ctx context.Context, head thread.Head, t *taken) error {
	record, _, err := u.runRecord(ctx, u.Thread, t.run)
	if err != nil {
		return err
	}
	t.agent, t.request, t.frontend = record.AgentID, record.Request, record.Frontend
	if !head.Open() || head.Run.ID != t.run {
		return nil
	}
	in, err := u.queuedInput(ctx, head.Run.Dispatch, 0)
	t.fresh, t.of = head.Run.Status == thread.Running, in.Retakes
	return err
}

// Looks back in the log, in records: the first, and the longest.
const (
	firstLook = 32
	maxLook   = 1024
)

// lastOf finds the last entry at or before a sequence that is as asked.
func (u *submission) lastOf(ctx context.Context, last uint64, is func(*thread.Entry) bool) (found store.LogEntry, ok bool, err error) {
	for size := uint64(firstLook); last > 0; size = min(2*size, maxLook) {
		from := last - min(size, last) + 1
		for e, err := range store.EntriesBackwards(ctx, u.store, u.records, u.Thread, from, last) {
			if err != nil || is(&e.Entry) {
				return e, err == nil, err
			}
		}
		last = from - 1
	}
	return found, false, nil
}

// plain is what a person said, without what became of it.
func plain(messages []core.Message) []core.Message {
	said := make([]core.Message, len(messages))
	for i, m := range messages {
		said[i] = core.Message{ID: m.ID, Role: m.Role, Content: m.Content}
	}
	return said
}

// keyed gives the submission the key of the run that it takes back. Another try finds
// the run that the first one began, and not the one that this took back: as long as
// that run is under way its own key counts, if it stands for the same.
func (u *submission) keyed(ctx context.Context) error {
	if u.Opening.Retake == nil || !u.Opening.Retake.Keyed {
		return nil
	}
	head, err := u.Head(ctx, u.Thread)
	if err == nil {
		err = checkAccess(head, u.User)
	}
	if err == nil {
		err = u.retake(ctx, head)
	}
	if err != nil {
		return err
	}
	body, err := bodyHash(u.Submission)
	if err != nil {
		return err
	}
	t := u.taken
	if t.fresh && !t.of.IsZero() {
		key := retakeKind + t.of.String()
		p, ok, err := u.byKey(ctx, key)
		if err != nil {
			return err
		}
		if ok && p.Run == t.run && p.Body == body {
			u.Key.Value = key
			return nil
		}
	}
	if u.Key.Value, err = u.freeKey(ctx, head, retakeKind, t.run); err != nil || !t.gone {
		return err
	}
	p, ok, err := u.byKey(ctx, u.Key.Value)
	if err == nil && ok && p.Body != body { // it is no other try of what took it back
		err = u.errGone()
	}
	return err
}

// retakeKind begins the keys of submissions that take a run back. Other keys begin
// otherwise.
const retakeKind = "retake:"

// byKey reads what a key of the thread stands for.
func (u *submission) byKey(ctx context.Context, key string) (p pointer, ok bool, err error) {
	value, ok, err := u.store.Pointer(ctx, u.Thread.Tenant, keyName(u.Thread.Thread, key))
	if err != nil || !ok {
		return p, false, err
	}
	p, err = decodePointer(value)
	return p, err == nil, err
}

// named is the message as a Key stands for it. One that is keyed by the run is the
// same whether the client named that by its input or by what it said.
func (r *Retake) named() string {
	if r == nil || r.Keyed {
		return ""
	}
	return r.Message
}
