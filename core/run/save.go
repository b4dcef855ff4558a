package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// save commits a change of the head under the step's claim, with the records of
// build. Effects of the round's calls run here, at the one place that every write
// of a holder goes through, because each of them may be the one that moves a call
// to done. r is nil while no round is known.
func (d *draft) save(ctx context.Context, r *round, change func() thread.Change, build builds) (thread.Result, error) {
	was := d.head
	result, err := d.commit(ctx, change, build)
	if err == nil {
		d.chunks.end() // what the model said is in the log now, or void
		d.logged(was, d.head)
	}
	if err == nil && r != nil {
		r.callEffects(ctx, was, d.head)
	}
	return result, err
}

// seq is the sequence of the log's newest record once the draft is committed.
func (d *draft) seq() uint64 { return d.head.Seq + uint64(len(d.entries)) }

// logRecords encodes the entries behind the first so many, which are stored by
// other means: results have their payloads already.
func (d *draft) logRecords(skip int) ([]store.Record, error) {
	first := d.head.Seq + 1 + uint64(skip)
	records := make([]store.Record, 0, len(d.entries)-skip+2) // a run's record comes behind them, and what lists its thread
	for i := range d.entries[skip:] {
		payload, err := d.records.EncodeEntry(&d.entries[skip+i])
		if err != nil {
			return nil, endWith("encoding", err)
		}
		records = append(records, store.Record{Name: store.LogName(first + uint64(i)), Payload: payload})
	}
	return records, nil
}

// runRecord encodes the run's record as it stands. It is rewritten with the fence
// and version of the head that it goes with, so that a late write of a lost claim
// cannot replace a newer one.
func (d *draft) runRecord(r *thread.RunRecord) (store.Record, error) {
	payload, err := d.records.EncodeRun(r)
	return store.Record{Name: store.RunName(r.ID), Payload: payload}, err
}

// recordFor is the run's record for an outcome. The ending names the version of
// the head that begins to close the run: a record that a refused commit has left
// behind names a version that never did, and is not believed.
func (d *draft) recordFor(next thread.Head, result thread.Result, t *core.Termination) thread.RunRecord {
	r := d.record
	r.Steps, r.Usage, r.Spend = d.totals.Steps, d.totals.Usage, d.totals.Spend
	r.Status, r.InRound = core.RunRunning, false // what a refused end has left behind
	switch result.Outcome {
	case thread.Wait:
		r.Status = core.RunWaiting
	case thread.Close:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		r.Response = d.response(t) // the run reads as done from this head on
	case thread.Done:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		d.finalize(&r, t, d.endedAt())
	}
	return r
}

// finalize makes a record say that its run is over, and since when. Where the same
// write ends the run, that is the time of the last try that built it: only the one
// whose head was set is ever read.
func (d *draft) finalize(r *thread.RunRecord, t *core.Termination, at int64) {
	r.Status, r.Termination, r.FinishedAt = core.RunDone, t, at
	r.Response = d.response(t)
}

// response is the text of the run's last turn. Of one that came to an answer of a form it
// is that alone, as the form means it: what stands before it in the turn is not of the form.
func (d *draft) response(t *core.Termination) string {
	turn := lastTurnOf(d.messages.items, d.id)
	switch {
	case turn == nil:
		return ""
	case t.Type == core.TerminationNatural && d.agent != nil && d.agent.Spec.ResponseFormat != nil:
		return agent.DropNulls(d.agent.Spec.ResponseFormat, agent.AnswerOf(turn))
	}
	return turn.Text()
}

// committed takes the draft into the conversation and begins the next one. The
// effects of what was committed run now, after the cache knows of it: they may
// take long or take the process down, and nothing rolls them back. They see the
// state as it is after the commit, under the step that they were asked for in.
func (d *draft) committed(ctx context.Context) {
	d.recorded = true
	d.remember()
	// Taken before begin: the draft is another one then.
	effects, m := d.effects, d.moment("", plugin.Moment{})
	if d.asks && d.hint != nil && d.history == nil {
		d.hint(ctx, d.Key)
	}
	d.warnOfFailedActions(ctx, d.entries)
	d.begin()
	d.runEffects(ctx, m, effects)
}

// remember makes the conversation that the commit came to, and caches it: the
// next step of the thread in this process reads nothing. It folds the entries
// as a cold step would, instead of taking the draft's snapshot, so that warm and
// cold cannot drift apart.
func (d *draft) remember() {
	b := build(d.conversation)
	b.ahead = d.messages
	for _, entry := range d.entries {
		if err := b.add(entry); err != nil { // cannot be: it was made from this very state. The log is right, and read anew
			d.log.Error("committed entries do not fold", append(d.attrs(), "error", err)...)
			return
		}
	}
	d.conversation = b.done(d.oldWindow)
	d.conversation.under(d.past.summary)
	d.conversation.record = d.record
	d.conversation.charge = d.charged()
	d.cache.put(d.Key, d.conversation)
}

// runEffects acts after a commit. Neither a lost claim nor a cancel stops it:
// what was committed stands, and nobody else will act on it. Failures are logged, one
// line each, and counted; they go nowhere else, for the same reason.
func (d *draft) runEffects(ctx context.Context, m plugin.Moment, effects []state.Effect) {
	if len(effects) == 0 || d.agent == nil || d.history != nil { // of a replay they have happened
		return
	}
	ctx, cancel := d.undisturbed(ctx)
	defer cancel()
	for _, err := range d.agent.Engine.RunEffects(ctx, m, effects) {
		d.failedEffects.Add(1)
		d.complain(ctx, "an effect failed; what was committed stands", failure(err)...)
	}
}

// lastText is the text of the run's newest assistant turn; empty when the window
// has none of the run any more.
func lastText(messages []core.Message, run core.ID) string {
	if turn := lastTurnOf(messages, run); turn != nil {
		return turn.Text()
	}
	return ""
}

// lastTurnOf is that turn; nil when the window has none.
func lastTurnOf(messages []core.Message, run core.ID) *core.Message {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if messages[i].Role == core.RoleAssistant {
			return &messages[i]
		}
	}
	return nil
}
