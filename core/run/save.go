package run

import (
	"context"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// save writes, and does what follows every write of a holder: what the model said is in
// the log now, or void; the observer is told what the log has; and the effects of calls run,
// since any write may be the one that moves a call to done. r is nil while no round is known.
func (d *draft) save(ctx context.Context, r *round, w write) (*plan, thread.Result, error) {
	was := d.head
	p, result, err := d.write(ctx, w)
	if err != nil {
		return nil, result, err
	}
	d.chunks.End()
	d.logged(was, d.head)
	if r != nil {
		r.callEffects(ctx, was, d.head)
	}
	return p, result, nil
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
	d.conversation.standing = d.account.Standing()
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
