package inference

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// How often and how long a step calls a model that fails. While a stream follows the run, a
// person waits: the calls are counted, see modelCalls. While none does, the agent's patience
// counts instead, from the first call of the step that failed or that a circuit refused, over
// all deliveries. The run then waits in the mailbox, at no cost, through an outage.
//
// A stream follows the run if the step itself has a listener, or if the mark of another
// process is valid, see live.Mark. The mark is read only if the two rules differ: a step whose
// model works reads none. A mark that is not found costs a reader some minutes; one that is
// stale ends a run early. Both are rare, and neither loses anything.

// patience is that of a run with its model. Times are unix milliseconds.
type patience struct {
	lasts int64 // milliseconds; 0: the run has none
	until int64 // the time of the run itself is over; 0: it has no end
	since int64 // when the first call failed or was refused; 0: none was
}

// begins notes that a call has failed or was refused. A run whose own time is over has no
// patience: its calls are counted.
func (p *patience) begins(now int64) {
	if p.since != 0 || p.lasts == 0 {
		return
	}
	if p.until != 0 && p.until <= now {
		p.lasts = 0
		return
	}
	p.since = max(now, 1)
}

// left is how long the patience lasts from now; 0: it is over, or the run has none.
func (p *patience) left(now int64) time.Duration {
	if p.lasts == 0 || p.since == 0 {
		return 0
	}
	end := p.since + p.lasts
	if p.until != 0 {
		end = min(end, p.until)
	}
	return time.Duration(max(end-now, 0)) * time.Millisecond
}

// followed reports whether a stream is known to follow the run.
func (t *Turn) followed(ctx context.Context) bool {
	return t.step.Events.Listened() || t.step.Claim.Followed(ctx)
}

// mayCall reports whether the step may make another call without a pause.
func (t *Turn) mayCall(ctx context.Context) bool {
	_, ok := t.pause(ctx, 0, 0)
	return ok
}

// wait is the pause before the next call of a model, after one that failed as kind says.
// ok is false if the step may not make it.
func (t *Turn) wait(ctx context.Context, m *registry.BoundModel, name string, kind model.ErrorKind, asked time.Duration) (wait time.Duration, ok bool) {
	ours := max(t.env().Jitter(Pause(t.step.Agent.Spec.Retry, kind, t.failed)), t.step.Circuits.Wait(m, name))
	return t.pause(ctx, ours, asked)
}

// pause returns how long to wait before the next call: as long as the runtime chooses, and
// at least as long as the provider asks for. A patient run makes its last call when its
// patience ends, but never before the provider allows it.
func (t *Turn) pause(ctx context.Context, ours, asked time.Duration) (wait time.Duration, ok bool) {
	now := t.env().Millis()
	t.patience.begins(now)
	wait = max(ours, asked)
	counts, left := t.failed < t.modelCalls(), t.patience.left(now)
	waits := left > 0 && asked <= left
	switch {
	case t.patience.lasts == 0, !counts && !waits, counts && wait <= left:
		return wait, counts
	case t.followed(ctx):
		return wait, counts
	}
	return max(min(ours, left), asked), waits
}

// waitRefused is how long to wait after a call that a circuit has refused. Such a call costs
// none of those that are counted. But the patience ends also for a run that never gets
// through, since others probe the model.
func (t *Turn) waitRefused(ctx context.Context, wait time.Duration) (time.Duration, bool) {
	now := t.env().Millis()
	t.patience.begins(now)
	left := t.patience.left(now)
	if t.patience.lasts == 0 || wait <= left || t.followed(ctx) {
		return wait, true
	}
	return left, left > 0
}
