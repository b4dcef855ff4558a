package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
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

// ending is how a step's run goes on: not at all when it has a termination.
type ending struct {
	termination *core.Termination
	natural     bool // the model came to an end by itself: unread input makes it go on
}

// judge asks the stop policies about a turn. They see the totals with this turn,
// as they stand in its record, so that a takeover comes to the same.
func (d *draft) judge(turn core.Message) *core.Termination {
	for _, check := range d.stop {
		if termination := check(d.agent, d.events.step, turn, d.totals.Usage); termination != nil {
			return termination
		}
	}
	return nil
}

// naturalEnd is the end of a run whose model came to one by itself. A turn that
// was cut short says so in the code: to a client it reads like any other.
func naturalEnd(turn core.Message) *core.Termination {
	end := &core.Termination{Type: core.TerminationNatural}
	switch turn.StopReason {
	case core.StopMaxTokens, core.StopContentFilter, core.StopContextOverflow:
		end.Code = string(turn.StopReason)
	}
	return end
}

// end is how the run ends after the round; nil: it goes on.
func (r *round) end() *core.Termination {
	i := r.blocked()
	if i < 0 {
		return nil
	}
	return &core.Termination{Type: core.TerminationBlocked, Detail: r.calls[i].entry.Blocked}
}

// recordFor is the run's record for an outcome. The ending names the version of
// the head that begins to close the run: a record that a refused commit has left
// behind names a version that never did, and is not believed.
func (d *draft) recordFor(next thread.Head, result thread.Result, t *core.Termination) thread.RunRecord {
	r := d.record
	r.Steps, r.Usage = d.totals.Steps, d.totals.Usage
	r.Status = core.RunRunning
	switch result.Outcome {
	case thread.Wait:
		r.Status = core.RunWaiting
	case thread.Close:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		r.Response = lastText(d.messages, r.ID) // the run reads as done from this head on
	case thread.Done:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		d.finalize(&r, t)
	}
	return r
}

// finalize makes a record say that its run is over.
func (d *draft) finalize(r *thread.RunRecord, t *core.Termination) {
	r.Status, r.Termination, r.FinishedAt = core.RunDone, t, d.env.Millis()
	r.Response = lastText(d.messages, r.ID)
}

// fail ends the run with an error: its own input stays, everything else that
// this step said is void. What was steered to the run is not read either, it
// becomes the next run. Results that tools came to are stored first, whatever
// the failure was. The head advances over the round only when it is whole; with
// an open call this becomes a close.
func (m *machine) fail(ctx context.Context, t core.Termination, cause error) (Stepped, error) {
	m.warn(ctx, "run ends with an error", append([]any{"code", t.Code, "detail", t.Detail}, failure(cause)...)...)
	if err := m.round.storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	if err := m.identify(ctx); err != nil {
		return Stepped{}, err
	}
	m.reset()
	d, r, from := m.draft, m.round, m.head.Seq
	seq := from
	switch {
	case len(m.head.Run.Calls) == 0:
		if m.head.Run.Cursor == thread.CursorStart && m.input != nil {
			if err := m.sayOwnAtEnd(ctx, m.input); err != nil {
				return Stepped{}, err
			}
		}
		seq = d.seq()
	case !m.head.Run.OpenCalls():
		seq = m.head.Run.Base + uint64(len(m.head.Run.Calls)) - 1
	}
	m.hold.ending.Store(true)
	var record thread.RunRecord
	result, err := m.save(ctx, r, func() thread.Change {
		return thread.CommitStep{Fence: m.fence(), From: from, Outcome: thread.Done, Listens: m.listens(), Seq: seq, Cut: d.cut, Schema: r.adopted()}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		records, err := d.logRecords(0)
		if err != nil {
			return nil, err
		}
		record = m.recordFor(next, result, &t)
		stored, err := m.runRecord(record)
		return append(records, stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	m.record, m.recorded = record, true
	if result.Outcome == thread.Close {
		return m.close(ctx)
	}
	m.announceEnd(&t)
	return Stepped{Outcome: result.Outcome, Head: m.head}, nil
}

// close writes what a closing run still owes, and makes its end final. The head
// is read again: the write that began to close may be somebody else's, and its
// reason and version decide which ending counts. Each part can be repeated by
// another claim; RunEnd is the only one whose repetition shows.
func (m *machine) close(ctx context.Context) (Stepped, error) {
	m.hold.ending.Store(true)
	if err := m.round.storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	head, err := m.committer.Head(ctx, m.Key)
	if err != nil {
		return Stepped{}, err
	}
	if head.Claim.Fence != m.fence() || head.Run.Status != thread.Closing {
		return Stepped{}, thread.ErrFenced
	}
	m.head = head
	if err := m.learn(ctx); err != nil {
		return Stepped{}, err
	}
	m.reset()
	t := head.End(&m.record)
	if t == nil { // its own end, and the record that said which is lost
		t = &core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "the record of the run is lost"}
	}
	if t.Type == core.TerminationError && head.Run.Reason != thread.ReasonOwn { // no step said so
		m.warn(ctx, "run ends with an error", "code", t.Code, "detail", t.Detail)
	}
	results, err := m.settle(ctx, t)
	if err != nil {
		return Stepped{}, err
	}
	if err := m.lastWords(ctx, t); err != nil {
		return Stepped{}, err
	}
	skipped, err := m.runEnd(ctx, t)
	if err != nil {
		return Stepped{}, err
	}
	return m.commitClose(ctx, t, results, skipped)
}

// settle gives every open call of the committed turn its one result: the stored
// one, under our fence, or one that says why there is none. They are returned,
// and taken into the draft in call order.
func (m *machine) settle(ctx context.Context, t *core.Termination) ([]store.Record, error) {
	n := len(m.head.Run.Calls)
	if n == 0 {
		return nil, nil
	}
	turn, err := m.openTurn(ctx)
	if err != nil {
		return nil, err
	}
	r := m.newRound(turn, m.head.Run.Base)
	r.takeOver(m.round)
	m.round, r.before = r, m.messages
	if err := r.recallRound(ctx); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return nil, err
	}
	if err := r.adopt(ctx); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return nil, err
	}
	how := string(t.Type) // what the model reads: cancelled, expired
	if t.Code != "" {
		how = t.Code
	}
	reason := "no result: the run was ended first (" + how + ")"
	for i, c := range r.calls {
		if c.entry != nil {
			continue
		}
		result := synthetic(core.ResultNotExecuted, reason)
		switch {
		case c.fatal:
			result = synthetic(core.ResultError, "execution failed: the tool ended the run")
		case m.head.Run.Calls[i] == thread.CallRunning || c.begun:
			result = synthetic(core.ResultUnknown, "outcome unknown: the run was ended while the tool may have run")
		}
		entry := r.resultEntry(i, answer{result: result})
		if c.payload, err = m.records.EncodeEntry(entry); err != nil {
			return nil, err
		}
		c.entry = &entry
	}
	for i, c := range r.calls {
		if !c.merged { // its AfterToolExecute does not run any more
			r.mergeResult(ctx, i, c.entry.Hooks)
			r.noteMerged(i)
		}
	}
	r.takeResults()
	return r.unstored(), nil
}

// lastWords takes into the draft what was said and not committed: the input of
// a run that never began, and, when a person ended the run, what its model had
// said of its last turn.
func (m *machine) lastWords(ctx context.Context, t *core.Termination) error {
	if m.head.Run.Cursor == thread.CursorStart {
		input, err := m.queued(ctx, m.head.Run.Dispatch, m.head.Run.Revision)
		switch {
		case err == nil:
			if err := m.sayOwnAtEnd(ctx, &input); err != nil {
				return err
			}
		case core.CodeOf(err) != core.CodeCorrupt:
			return err
		}
	}
	byPerson := t.Type == core.TerminationCancelled || t.Type == core.TerminationSuperseded
	said := m.unsaid.said()
	if said == "" || m.unsaid.steered || !byPerson || len(m.head.Run.Calls) > 0 {
		return nil
	}
	number := int(m.head.Run.Step) + 1
	last := core.Message{
		ID: turnID(m.id, number), Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: said}},
		RunID: m.id, Step: number, CreatedAt: m.env.Millis(), StopReason: core.StopOther,
	}
	if m.agent != nil {
		last.Model = m.agent.ModelName
	}
	m.add(thread.Entry{Run: m.id, Step: number, Message: &last, Attempt: m.events.fence})
	return nil
}

// runEnd runs the phase RunEnd. The claims of a closing run are few: after
// those that were lost, it may be a hook that takes the process down, and no run
// stays open for its hooks. One that fails is logged, and what the phase changed
// is dropped as a whole. Nothing can cancel a run that closes, so a hook that
// hangs costs its claim after the time of a lease, and no more than those few.
func (d *draft) runEnd(ctx context.Context, t *core.Termination) (skipped bool, err error) {
	if !d.listens() {
		return false, nil
	}
	if d.head.Run.Attempts >= thread.SkipRunEnd {
		d.complain(ctx, "RunEnd is skipped: too many claims of the closing run were lost", "attempts", d.head.Run.Attempts)
		return true, nil
	}
	before := *d
	within, cancel := d.env.WithTimeout(ctx, d.lease)
	defer cancel()
	if err := d.phase(within, plugin.Context{Phase: core.PhaseRunEnd, Termination: t}); err != nil {
		if within.Err() != nil {
			return false, fmt.Errorf("run end: %w", context.Cause(within))
		}
		d.complain(ctx, "RunEnd failed; the run ends all the same", failure(err)...)
		*d = before
	}
	return false, nil
}

// commitClose makes the end final: results first, then what was said and what
// RunEnd changed, in one commit with the run's record.
func (m *machine) commitClose(ctx context.Context, t *core.Termination, results []store.Record, skipped bool) (Stepped, error) {
	d, r, from, calls := m.draft, m.round, m.head.Seq, len(m.head.Run.Calls)
	d.addStep()
	record := m.record
	record.Steps, record.Usage, record.Skipped = d.totals.Steps, d.totals.Usage, skipped
	m.finalize(&record, t)
	result, err := m.save(ctx, r, func() thread.Change {
		return thread.CommitClose{Fence: m.fence(), From: from, Seq: d.seq(), Cut: d.cut, Schema: r.adopted()}
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		records, err := d.logRecords(calls)
		if err != nil {
			return nil, err
		}
		stored, err := m.runRecord(record)
		return append(append(records, results...), stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	m.record = record
	m.runEffects(ctx, m.context(plugin.Context{Termination: t}), d.effects)
	if m.conversation != nil {
		m.remember()
		m.storeSnapshot(ctx)
	}
	m.announceEnd(t)
	return Stepped{Outcome: result.Outcome, Head: m.head}, nil
}

// announceEnd emits the last events of a run that was closed.
func (m *machine) announceEnd(t *core.Termination) {
	if m.Head.Run.Cursor == thread.CursorStart {
		m.announceStart()
	}
	if m.round != nil {
		m.round.allStored()
		m.round = nil
		m.events.emit(core.Event{Type: core.EventStepEnd})
	}
	m.events.emit(core.Event{Type: core.EventRunFinish, RunID: m.id, Response: m.record.Response, Termination: t})
}
