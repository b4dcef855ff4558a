package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A run ends in one way, whatever the reason:
//
//  1. One head write makes it closing. commitStep does for a natural end, a stop
//     and a block; fail for an error; a person's cancel or interrupt, an expired
//     ticket and a dead letter come from outside. Where nobody listens to RunEnd
//     and no call is open, the same write is the last.
//  2. Nothing can be steered to it any more. Its holder, or whoever claims it
//     next, comes to close: open calls get the results that are stored, or ones
//     that say why there is none; a run that never began has its input stored;
//     what a model had said of a turn that is not committed becomes its last message;
//     RunEnd runs with the real termination.
//  3. commitClose makes it final, with the run's record. Input that no step has
//     read becomes the next run, or has ended with a cancel or an interrupt.
//
// A crash in between repeats 2: only RunEnd can be seen more than once then, by
// the step that came to the end and by two claims after it.

// fail ends the run with an error: its own input stays, everything else that
// this step said is void. What was steered to the run is not read either, it
// becomes the next run. Results that tools came to are stored first, whatever
// the failure was. The head advances over the round only when it is whole; with
// an open call this becomes a close.
func (p *step) fail(ctx context.Context, t core.Termination, cause error) (Stepped, error) {
	p.log.WarnContext(ctx, "run ends with an error", slices.Concat(p.attrs(), []any{"code", t.Code, "detail", t.Detail}, failure(cause))...)
	if err := p.storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	if err := p.identify(ctx); err != nil {
		return Stepped{}, err
	}
	p.reset()
	d, from := &p.draft, p.head.Seq
	seq := from
	switch {
	case len(p.head.Run.Calls) == 0:
		if p.head.Run.Cursor == thread.CursorStart && p.input != nil {
			if err := p.openAtEnd(ctx, p.input); err != nil {
				return Stepped{}, err
			}
		}
		seq += uint64(len(d.entries))
	case !p.head.Run.OpenCalls():
		seq = p.head.Run.Base + uint64(len(p.head.Run.Calls)) - 1
	}
	p.ending.Store(true)
	var record thread.RunRecord
	result, err := p.commit(ctx, func() thread.Change {
		return thread.CommitStep{Fence: p.fence, From: from, Outcome: thread.Done, Listens: p.listens(), Seq: seq, Cut: d.cut, Schema: p.adopted()}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		records, err := p.logRecords(from+1, d.entries)
		if err != nil {
			return nil, err
		}
		record = p.recordFor(next, result, &t)
		stored, err := p.runRecord(record)
		return append(records, stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	p.record, p.recorded = record, true
	if result.Outcome == thread.Close {
		return p.close(ctx)
	}
	p.announceEnd(&t)
	return Stepped{Outcome: result.Outcome, Head: p.head}, nil
}

// reset forgets what the step has said and changed since its last commit. A
// thread that could not be read has no conversation: nothing is folded onto it or
// cached, and without its agent no hook is shown anything either.
func (p *step) reset() {
	p.draft = draft{}
	if p.conversation != nil {
		p.begin()
	}
	p.events.step = max(1, int(p.head.Run.Step))
}

// close writes what a closing run still owes, and makes its end final. The head
// is read again: the write that began to close may be somebody else's, and its
// reason and version decide which ending counts. Each part can be repeated by
// another claim; RunEnd is the only one whose repetition shows.
func (p *step) close(ctx context.Context) (Stepped, error) {
	p.ending.Store(true)
	if err := p.storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	head, err := p.committer.Head(ctx, p.Key)
	if err != nil {
		return Stepped{}, err
	}
	if head.Claim.Fence != p.fence || head.Run.Status != thread.Closing {
		return Stepped{}, thread.ErrFenced
	}
	p.head = head
	if err := p.learn(ctx); err != nil {
		return Stepped{}, err
	}
	p.reset()
	t := head.End(&p.record)
	if t == nil { // its own end, and the record that said which is lost
		t = &core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "the record of the run is lost"}
	}
	if t.Type == core.TerminationError && head.Run.Reason != thread.ReasonOwn { // no step said so
		p.log.WarnContext(ctx, "run ends with an error", append(p.attrs(), "code", t.Code, "detail", t.Detail)...)
	}
	results, err := p.settle(ctx, t)
	if err != nil {
		return Stepped{}, err
	}
	if err := p.lastWords(ctx, t); err != nil {
		return Stepped{}, err
	}
	skipped, err := p.runEnd(ctx, t)
	if err != nil {
		return Stepped{}, err
	}
	return p.commitClose(ctx, t, results, skipped)
}

// learn reads who the run is, and the thread, as far as they can be read: a run
// that nobody can read any more ends all the same.
func (p *step) learn(ctx context.Context) error {
	if p.agent != nil && p.conversation.seq == p.head.Seq {
		return nil
	}
	err := p.load(ctx) // what this step knows is older than the head, or nothing
	var end *ended
	if err == nil || errors.As(err, &end) { // the agent is gone
		return nil
	}
	if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	p.log.ErrorContext(ctx, "closing run cannot be read", append(p.attrs(), "error", err)...)
	p.conversation, p.agent = nil, nil
	return p.identify(ctx)
}

// identify makes a record for a run whose own is lost, from what is left of it:
// its end must have a record under the right name.
func (p *step) identify(ctx context.Context) error {
	if p.record.ID == p.id {
		return nil
	}
	p.record = thread.RunRecord{}
	p.record.Run = core.Run{ID: p.id, ThreadID: p.Key.Thread, Status: core.RunRunning, Dispatch: p.head.Run.Dispatch}
	if input, err := p.queued(ctx, p.head.Run.Dispatch, p.head.Run.Revision); err == nil {
		p.record.AgentID, p.record.CreatedAt = input.AgentID, input.CreatedAt
	} else if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	return nil
}

// settle gives every open call of the committed turn its one result: the stored
// one, under our fence, or one that says why there is none. They are returned,
// and taken into the draft in call order.
func (p *step) settle(ctx context.Context, t *core.Termination) ([]store.Record, error) {
	n := len(p.head.Run.Calls)
	if n == 0 {
		return nil, nil
	}
	turn, err := p.openTurn(ctx)
	if err != nil {
		return nil, err
	}
	before := p.round
	p.round = newRound(turn, p.head.Run.Base)
	p.round.takeOver(before)
	p.round.before = p.draft.messages
	if err := p.recallRound(ctx); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return nil, err
	}
	if err := p.adopt(ctx); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return nil, err
	}
	how := string(t.Type) // what the model reads: cancelled, expired
	if t.Code != "" {
		how = t.Code
	}
	reason := "no result: the run was ended first (" + how + ")"
	for i, c := range p.round.calls {
		if c.entry != nil {
			continue
		}
		result := synthetic(core.ResultNotExecuted, reason)
		switch {
		case c.fatal:
			result = synthetic(core.ResultError, "execution failed: the tool ended the run")
		case p.head.Run.Calls[i] == thread.CallRunning || c.begun:
			result = synthetic(core.ResultUnknown, "outcome unknown: the run was ended while the tool may have run")
		}
		entry := p.resultEntry(i, answer{result: result})
		if c.payload, err = p.records.EncodeEntry(entry); err != nil {
			return nil, err
		}
		c.entry = &entry
	}
	for i, c := range p.round.calls {
		if !c.merged { // its AfterToolExecute does not run any more
			p.mergeResult(ctx, i, c.entry.Hooks)
			p.merged(i)
		}
	}
	p.takeResults()
	return p.round.unstored(), nil
}

// openTurn is the turn of the open round; one that cannot be read any more has
// calls without names, as many as the head knows.
func (p *step) openTurn(ctx context.Context) (core.Message, error) {
	entries, err := store.ReadLog(ctx, p.store, p.records, p.Key, p.head.Run.Base-1, p.head.Run.Base-1)
	if err == nil && entries[0].Message != nil && len(entries[0].Message.ToolCalls) == len(p.head.Run.Calls) {
		return *entries[0].Message, nil
	}
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return core.Message{}, err
	}
	var turn core.Message
	for i := range p.head.Run.Calls {
		turn.ToolCalls = append(turn.ToolCalls, core.ToolCall{ID: callID(p.id, int(p.head.Run.Step), i)})
	}
	return turn, nil
}

// lastWords takes into the draft what was said and not committed: the input of
// a run that never began, and, when a person ended the run, what its model had
// said of its last turn.
func (p *step) lastWords(ctx context.Context, t *core.Termination) error {
	if p.head.Run.Cursor == thread.CursorStart {
		input, err := p.queued(ctx, p.head.Run.Dispatch, p.head.Run.Revision)
		switch {
		case err == nil:
			if err := p.openAtEnd(ctx, &input); err != nil {
				return err
			}
		case core.CodeOf(err) != core.CodeCorrupt:
			return err
		}
	}
	byPerson := t.Type == core.TerminationCancelled || t.Type == core.TerminationSuperseded
	said := p.unsaid.said()
	if said == "" || p.unsaid.steered || !byPerson || len(p.head.Run.Calls) > 0 {
		return nil
	}
	number := int(p.head.Run.Step) + 1
	m := core.Message{
		ID: turnID(p.id, number), Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: said}},
		RunID: p.id, Step: number, CreatedAt: p.env.Millis(), StopReason: core.StopOther,
	}
	if p.agent != nil {
		m.Model = p.agent.ModelName
	}
	p.draft.add(thread.Entry{Run: p.id, Step: number, Message: &m, Attempt: p.events.fence})
	return nil
}

// runEnd runs the phase RunEnd. The claims of a closing run are few: after
// those that were lost, it may be a hook that takes the process down, and no run
// stays open for its hooks. One that fails is logged, and what the phase changed
// is dropped as a whole. Nothing can cancel a run that closes, so a hook that
// hangs costs its claim after the time of a lease, and no more than those few.
func (p *step) runEnd(ctx context.Context, t *core.Termination) (skipped bool, err error) {
	if !p.listens() {
		return false, nil
	}
	if p.head.Run.Attempts >= thread.SkipRunEnd {
		p.log.ErrorContext(ctx, "RunEnd is skipped: too many claims of the closing run were lost", append(p.attrs(), "attempts", p.head.Run.Attempts)...)
		return true, nil
	}
	before := p.draft
	within, cancel := p.env.WithTimeout(ctx, p.lease)
	defer cancel()
	if err := p.phase(within, plugin.Context{Phase: core.PhaseRunEnd, Termination: t}); err != nil {
		if within.Err() != nil {
			return false, fmt.Errorf("run end: %w", context.Cause(within))
		}
		p.log.ErrorContext(ctx, "RunEnd failed; the run ends all the same", append(p.attrs(), failure(err)...)...)
		p.draft = before
	}
	return false, nil
}

// commitClose makes the end final: results first, then what was said and what
// RunEnd changed, in one commit with the run's record.
func (p *step) commitClose(ctx context.Context, t *core.Termination, results []store.Record, skipped bool) (Stepped, error) {
	d, from, calls := &p.draft, p.head.Seq, uint64(len(p.head.Run.Calls))
	if len(d.patches) > 0 {
		entry := thread.Entry{Run: p.id, Step: p.events.step}
		d.take(&entry)
		d.entries = append(d.entries, entry)
	}
	record := p.record
	record.Steps, record.Usage, record.Skipped = d.totals.Steps, d.totals.Usage, skipped
	p.finalize(&record, t)
	result, err := p.commit(ctx, func() thread.Change {
		return thread.CommitClose{Fence: p.fence, From: from, Seq: from + uint64(len(d.entries)), Cut: d.cut, Schema: p.adopted()}
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		records, err := p.logRecords(from+calls+1, d.entries[calls:])
		if err != nil {
			return nil, err
		}
		stored, err := p.runRecord(record)
		return append(append(records, results...), stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	p.record = record
	p.runEffects(ctx, p.context(plugin.Context{Termination: t}), d.effects)
	if p.conversation != nil {
		p.remember()
		p.storeSnapshot(ctx)
	}
	p.announceEnd(t)
	return Stepped{Outcome: result.Outcome, Head: p.head}, nil
}

// announceEnd emits the last events of a run that was closed.
func (p *step) announceEnd(t *core.Termination) {
	if p.Head.Run.Cursor == thread.CursorStart {
		p.announceStart()
	}
	if p.round != nil {
		p.round.allStored(&p.events)
		p.round = nil
		p.events.emit(core.Event{Type: core.EventStepEnd})
	}
	p.events.emit(core.Event{Type: core.EventRunFinish, RunID: p.id, Response: p.record.Response, Termination: t})
}

// ended is an error that ends the run instead of the delivery.
type ended struct {
	termination core.Termination
	cause       error
}

func (e *ended) Error() string { return e.cause.Error() }
func (e *ended) Unwrap() error { return e.cause }

// endWith ends the run with an error. The cause is for the log alone.
func endWith(code string, cause error) error {
	return &ended{core.Termination{Type: core.TerminationError, Code: code, Detail: detail(code, "", cause)}, cause}
}

// endAt is endWith that says where it happened, to clients and to the log.
func endAt(code, where string, cause error) error {
	t := core.Termination{Type: core.TerminationError, Code: code, Detail: detail(code, where, cause)}
	return &ended{t, fmt.Errorf("%s: %w", where, cause)}
}

// failure is what a log line says of an error: of a panic, where it was too.
func failure(err error) []any {
	attrs := []any{"error", err}
	var panicked *env.PanicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, "stack", string(panicked.Stack))
	}
	return attrs
}
