package run

import (
	"context"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

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
