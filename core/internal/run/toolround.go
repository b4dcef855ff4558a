package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// toolRound is the open tool round: the known state of its calls, and the values
// that work on it. Each of them names those below it, in this order, and none knows
// one above it. Work of several of them in sequence is here.
type toolRound struct {
	round     round     // the calls, their results, and where these are stored
	merger    merger    // takes their changes into the draft
	gates     gates     // decide whether a call may run
	tickets   tickets   // what calls wait for
	line      line      // gives each call its one result
	scheduler scheduler // runs what can be run
	judged    bool      // the stop policies have judged the turn before its commit, and let the run go on
}

// newToolRound is the round of a committed turn, of which nothing is known yet. first is the
// sequence of its first result.
func newToolRound(h *holder, b *base, d *draft, turn core.Message, first uint64) *toolRound {
	t := &toolRound{}
	t.round = round{holder: h, base: b, draft: d, turn: turn, first: first, began: h.env.Millis(), calls: make(calls, len(turn.ToolCalls))}
	t.merger.round = &t.round
	t.gates = gates{&t.round}
	t.tickets = tickets{&t.round}
	t.line = line{round: &t.round, gates: &t.gates, merger: &t.merger}
	t.scheduler = scheduler{round: &t.round, gates: &t.gates, tickets: &t.tickets, line: &t.line, merger: &t.merger}
	return t
}

// begin makes the round that of a turn which this claim has just committed: no other
// has reached its calls.
func (t *toolRound) begin() {
	t.merger.begin()
	t.round.found = true
}

// openRound finds the committed turn, the state of the round, and the results that
// earlier claims stored of it. It returns the round as far as it came, also with an
// error.
func openRound(ctx context.Context, h *holder, b *base, d *draft) (*toolRound, error) {
	// The head has the number of the round's calls, but not the calls: the turn
	// must be theirs, or results would be stored under calls that no model made.
	messages := d.messages.Slice()
	if len(messages) == 0 || len(messages[len(messages)-1].ToolCalls) != len(h.head.Run.Calls) {
		return nil, fmt.Errorf("the turn before sequence %d does not have the calls of the head: %w", h.head.Run.Base, store.ErrCorrupt)
	}
	t := newToolRound(h, b, d, messages[len(messages)-1], h.head.Run.Base)
	t.merger.begin()
	// First the merged calls, then the stored results: a result that the round's
	// record does not have is merged from the log.
	if err := t.merger.recall(ctx); err != nil {
		return t, err
	}
	t.round.chooseMode()
	if err := t.adopt(ctx, true); err != nil {
		return t, err
	}
	t.round.findThrough()
	t.merger.showResults(-1)
	return t, nil
}

// known is the round; nil while none is open: of that there is nothing to store, and
// nothing to say in the head.
func (t *toolRound) known() *round {
	if t == nil {
		return nil
	}
	return &t.round
}

// adopt takes over results that an earlier claim stored: the same bytes under our
// fence, and no second run. Results that are in no line are tried before they are
// put again, and may become an error: see line.go. ask tells whether hooks can run.
func (t *toolRound) adopt(ctx context.Context, ask bool) error {
	found, err := t.round.find(ctx)
	if err != nil {
		return err
	}
	if err := t.line.lineUp(ctx, ask); err != nil {
		return err
	}
	return t.round.putAgain(ctx, found)
}

// merge takes into the draft the requests of the calls that have their result, with
// the hooks after it: first those in the line, then call by call.
func (t *toolRound) merge(ctx context.Context) error {
	if t.round.lined() {
		t.line.merge()
	}
	return t.merger.mergeAll(ctx)
}

// closeCalls gives every call its one result in a run that closes: the stored one,
// under our fence, or one with the reason why it has none. They are taken into the
// draft in call order; those that are not stored yet travel with the close. before
// is the round as this step knew it, nil for nothing; how is the code or type of
// the run's end, which the model reads.
func (t *toolRound) closeCalls(ctx context.Context, before *round, how string) error {
	r := &t.round
	r.goOnFrom(before)
	if err := t.merger.recall(ctx); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	if r.base.agent != nil {
		r.chooseMode()
	}
	if err := t.adopt(ctx, false); err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	if !r.found {
		r.findThrough()
	}
	reason := "no result: the run was ended first (" + how + ")"
	for i := range r.calls {
		c := &r.calls[i]
		if c.stage == concluded {
			continue
		}
		result := synthetic(core.ResultNotExecuted, reason)
		switch {
		case c.stage == fatal:
			result = synthetic(core.ResultError, "execution failed: the tool ended the run")
		case r.holder.head.Run.Calls[i] == thread.CallRunning || c.stage == running || r.mayHaveRun(i):
			result = synthetic(core.ResultUnknown, "outcome unknown: the run was ended while the tool may have run")
		}
		entry := r.resultEntry(i, conclusion{result: result})
		payload, err := r.holder.records.EncodeEntry(&entry)
		if err != nil {
			return err
		}
		c.end(&entry, payload)
	}
	// Merged as at a round's end: a cancel must not lose the changes of a tool
	// whose result is in the log.
	if r.lined() {
		t.line.merge()
	}
	for i := range r.calls {
		if !r.calls[i].merged() { // its AfterToolExecute does not run any more
			t.merger.mergeResult(ctx, i)
			t.merger.noteMerged(i)
		}
	}
	r.draft.totals.EndStep(r.calls.failed()) // as a fold over the results does
	r.addResults()
	return nil
}
