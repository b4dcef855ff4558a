package mailbox

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// original is the input that a Retake names.
// It is found either in what the head holds unread or in the log; what a later head has
// does not change it.
type original struct {
	// run is the run whose input it is, and input its messages without what was noted about
	// them.
	run   core.ID
	input []core.Message
	// named is the index in input of the message that was named; -1: the named message is a
	// turn or a result after the input.
	named int
	// from is the sequence from which on the log is withdrawn. If the input is not in the
	// log yet, it is the sequence that it would have, or what its run withdraws itself.
	from uint64
	// agent, request and frontend are those of the run, as far as they are known. The
	// frontend has no state: the client program sends it again.
	agent    string
	request  []byte
	frontend *core.Frontend
	// gone reports that it is superseded already.
	gone bool
	// fresh means that the run is queued or runs: a retry may name it in the place of what it
	// withdrew.
	fresh bool
	// retakes is the run that this one withdrew itself; zero: none.
	retakes core.ID
}

// unreadOriginal looks for the message in the input that the head has and the log does not. The
// open run may have read its input without committing it: the input will come directly after
// the log, with every outcome of the run. ErrUnread: no run has started to read it.
func (r reader) unreadOriginal(ctx context.Context, key core.ThreadKey, head thread.Head, message string) (*original, bool, error) {
	// look reads one input that the head has, and describes it if the message is one of its.
	look := func(run, dispatch core.ID, revision uint32) (*original, thread.Queued, error) {
		in, err := r.queuedInput(ctx, key, dispatch, revision)
		i := slices.IndexFunc(in.Messages, func(m core.Message) bool { return m.ID == message })
		if i < 0 {
			return nil, in, err
		}
		return &original{
			run: run, input: plain(in.Messages), named: i, from: in.Supersede,
			agent: in.AgentID, request: in.Request, frontend: in.Frontend.Stateless(),
			fresh: run != head.Run.ID || head.Run.Status == thread.Running, retakes: in.Retakes,
		}, in, nil
	}
	// Newest first: of several messages with one id the newest counts. A queued run that
	// withdraws something itself can be withdrawn, since its own place in the log is known.
	for _, d := range slices.Backward(head.Unopened()) {
		o, in, err := look(d.Run, d.ID, d.Revision)
		if err != nil || o != nil && in.Supersede != 0 {
			return o, o != nil, err
		}
		if o != nil {
			return nil, false, ErrUnread
		}
	}
	for _, e := range head.Inbox {
		o, _, err := look(head.Run.ID, e.ID, e.Revision)
		if o != nil {
			err = ErrUnread
		}
		if err != nil {
			return nil, false, err
		}
	}
	// Past its start, the open run has its input in the log.
	if !head.Open() || head.Run.Cursor != thread.CursorStart {
		return nil, false, nil
	}
	o, in, err := look(head.Run.ID, head.Run.Dispatch, head.Run.Revision)
	if o != nil && in.Supersede == 0 {
		o.from = head.Seq + 1
	}
	return o, o != nil, err
}

// loggedOriginal looks for the message in the log, from its end. A message that the thread
// does not have costs a read of the whole log.
// It finds the named message, then the input at or before it, then where that input starts.
// The input must be the first of its run, or follow the record by which its run withdrew
// others; errUnderWay otherwise.
func (r reader) loggedOriginal(ctx context.Context, key core.ThreadKey, head thread.Head, message string) (*original, error) {
	named, ok, err := r.lastOf(ctx, key, head.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.ID == message })
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, core.Errorf(core.CodeNotFound, "not found")
	}
	asked, ok, err := r.lastOf(ctx, key, named.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.IsInput() })
	if err != nil {
		return nil, err
	}
	if !ok { // a log begins with input, except one that was forked after it
		return nil, errUnderWay
	}
	// of reports whether an entry belongs to that input, which may have several messages.
	of := func(e *thread.Entry) bool {
		return e.Run == asked.Run && e.Input == asked.Input && e.Message != nil && e.Message.Role == core.RoleUser
	}
	before, _, err := r.lastOf(ctx, key, asked.Seq, func(e *thread.Entry) bool { return !of(e) })
	if err != nil {
		return nil, err
	}
	if before.Run == asked.Run && before.Superseded == nil {
		return nil, errUnderWay
	}
	o := &original{run: asked.Run, named: -1, from: before.Seq + 1}
	for e, err := range threadlog.Entries(ctx, r.store, r.records, key, o.from, head.Seq) {
		if err != nil {
			return nil, err
		}
		if !of(&e.Entry) {
			break
		}
		if e.Seq == named.Seq {
			o.named = len(o.input)
		}
		o.input = append(o.input, *e.Message)
	}
	o.input = plain(o.input)
	if err := r.aboutOriginalRun(ctx, key, head, o); err != nil {
		return nil, err
	}
	ranges, err := threadlog.Superseded(ctx, r.store, r.records, key, head.Supersedes, o.from-1)
	o.gone = slices.ContainsFunc(ranges, func(r thread.Range) bool { return r.From <= o.from && o.from <= r.To })
	return o, err
}

// aboutOriginalRun adds what is known of the run: a thread that was forked has no records of
// the runs before the fork.
// If the run is open, its input names what it withdrew itself.
func (r reader) aboutOriginalRun(ctx context.Context, key core.ThreadKey, head thread.Head, o *original) error {
	record, _, err := r.runRecord(ctx, key, o.run)
	if err != nil {
		return err
	}
	o.agent, o.request, o.frontend = record.AgentID, record.Request, record.Frontend
	if head.Run.ID != o.run {
		return nil
	}
	in, err := r.queuedInput(ctx, key, head.Run.Dispatch, 0)
	o.fresh, o.retakes = head.Run.Status == thread.Running, in.Retakes
	return err
}

// plain is what a person said, without what the runtime noted about it.
func plain(messages []core.Message) []core.Message {
	said := make([]core.Message, len(messages))
	for i, m := range messages {
		said[i] = core.Message{ID: m.ID, Role: m.Role, Content: m.Content}
	}
	return said
}
