package mailbox

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// original is the input that a Retake names.
type original struct {
	run   core.ID // whose input it is
	input []core.Message
	named int    // index in input of the message that was named; -1: a turn or result after it was
	from  uint64 // sequence from which on the log is withdrawn

	agent   string // of the run, as far as it is known
	request []byte
	// frontend is what the run's client program brought, without its state.
	frontend *core.Frontend

	gone    bool    // it is superseded already
	fresh   bool    // the run is queued or runs
	retakes core.ID // the run that this one withdrew itself
}

// unreadOriginal looks for the message in what the head has and the log does not. The open
// run may have read its input without committing it: the input will come directly after the
// log, whatever becomes of the run. ErrUnread: no run has started to read it.
func (r reader) unreadOriginal(ctx context.Context, key core.ThreadKey, head thread.Head, message string) (*original, bool, error) {
	look := func(run, dispatch core.ID, revision uint32) (*original, thread.Queued, error) {
		in, err := r.queuedInput(ctx, key, dispatch, revision)
		i := slices.IndexFunc(in.Messages, func(m core.Message) bool { return m.ID == message })
		if err != nil || i < 0 {
			return nil, in, err
		}
		return &original{
			run: run, input: plain(in.Messages), named: i, from: in.Supersede,
			agent: in.AgentID, request: in.Request, frontend: in.Frontend.Stateless(),
			fresh: run != head.Run.ID || head.Run.Status == thread.Running, retakes: in.Retakes,
		}, in, nil
	}
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
		if err == nil && o != nil {
			err = ErrUnread
		}
		if err != nil {
			return nil, false, err
		}
	}
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
		return nil, ErrUnderWay
	}
	of := func(e *thread.Entry) bool {
		return e.Run == asked.Run && e.Input == asked.Input && e.Message != nil && e.Message.Role == core.RoleUser
	}
	before, ok, err := r.lastOf(ctx, key, asked.Seq-1, func(e *thread.Entry) bool { return !of(e) })
	if err != nil {
		return nil, err
	}
	if ok && before.Run == asked.Run && before.Superseded == nil {
		return nil, ErrUnderWay
	}
	o := &original{run: asked.Run, named: -1, from: before.Seq + 1}
	for e, err := range store.Entries(ctx, r.store, r.records, key, o.from, head.Seq) {
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
	ranges, err := store.Superseded(ctx, r.store, r.records, key, head.Supersedes, o.from-1)
	o.gone = slices.ContainsFunc(ranges, func(r thread.Range) bool { return r.From <= o.from && o.from <= r.To })
	return o, err
}

// aboutOriginalRun adds what is known of the run: a thread that was forked has no records of
// the runs before the fork.
func (r reader) aboutOriginalRun(ctx context.Context, key core.ThreadKey, head thread.Head, o *original) error {
	record, _, err := r.runRecord(ctx, key, o.run)
	if err != nil {
		return err
	}
	o.agent, o.request, o.frontend = record.AgentID, record.Request, record.Frontend
	if !head.Open() || head.Run.ID != o.run {
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
