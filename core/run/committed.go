package run

import (
	"context"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// committed takes the draft into the conversation and begins the next one. The
// effects of what was committed run now, after the cache knows of it: they may
// take long or take the process down, and nothing rolls them back. They see the
// state as it is after the commit, under the step that they were asked for in.
func (d *draft) committed(ctx context.Context) {
	d.base.recorded = true
	d.remember(ctx)
	// Taken before begin: the draft is another one then.
	effects, v := d.effects, d.view()
	if d.asks && d.base.holder.s.hint != nil {
		d.base.holder.s.hint(ctx, d.base.holder.Key)
	}
	d.warnOfFailedActions(ctx, d.entries)
	d.begin()
	d.act(ctx, v, plugin.Moment{}, effects)
}

// remember makes the conversation that the commit came to, and caches it: the
// next step of the thread in this process reads nothing.
func (d *draft) remember(ctx context.Context) {
	next, err := d.base.holder.s.reader.Extend(d.base.conversation, d.entries, d.messages, d.past.Summary)
	if err != nil { // cannot be: it was made from this very state. The log is right, and read anew
		d.base.holder.complain(ctx, "committed entries do not fold", "error", err)
		return
	}
	next.Record, next.Standing = d.base.record, d.base.holder.account.Standing()
	d.base.conversation = next
	d.base.holder.s.reader.Keep(d.base.holder.Key, next)
}

// act runs effects after a write. They may take as long as the process has, whatever the
// write has done to the claim.
func (d *draft) act(ctx context.Context, v view, m plugin.Moment, effects []state.Effect) {
	if len(effects) > 0 {
		free, cancel := d.base.holder.undisturbed(ctx)
		defer cancel()
		d.base.hooks.effects(free, v, m, effects)
	}
}
