package run

import (
	"context"

	"github.com/reveille-run/reveille/core/thread"
)

// save writes, and does what follows every write of a holder: what the model said is in
// the log now, or void; the observer is told what the log has; and the effects of calls run,
// since any write may be the one that moves a call to done. r is nil while no round is known.
func (d *draft) save(ctx context.Context, r *round, w write) (*plan, thread.Result, error) {
	was := d.base.holder.head
	p, result, err := d.base.holder.write(ctx, w)
	if err != nil {
		return nil, result, err
	}
	d.base.holder.shared.chunks.End()
	d.logged(was, d.base.holder.head)
	if r != nil {
		r.callEffects(ctx, was, d.base.holder.head)
	}
	return p, result, nil
}
