package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// The reports of a host about this process: whether it serves, and its current work.

// Env returns the clock, the ids and the randomness that the runtime was built with.
func (r *Host) Env() *env.Env { return r.env }

// maxAbandoned is the number of abandoned tools that makes a process unhealthy.
const maxAbandoned = 16

// Stats are the numbers of a process.
type Stats struct {
	// Working is how many runs the process works on now: each has the claim of its thread,
	// or is about to take it.
	Working int
	// Followers is how many streams follow a thread: their run is another worker's, or waits.
	Followers int
	// Abandoned is how many abandoned tools still run: tools that did not return when their
	// context ended.
	Abandoned int
	// EffectFailures is how many effects have failed since the process started. The commit
	// that an effect followed is not rolled back, so that a failure is reported only here and
	// in the log.
	EffectFailures int64
}

// Stats returns the numbers of this process.
func (r *Host) Stats() Stats {
	return Stats{
		Working: r.worker.permits.working(), Followers: r.watches.followers(),
		Abandoned: r.stepper.Abandoned(), EffectFailures: r.stepper.EffectFailures(),
	}
}

// Healthy returns nil, or with code unavailable why the process should be replaced: 16 or
// more abandoned tools still run. They hold their goroutines and all that they use until they return, and only
// the end of the process can stop them.
func (r *Host) Healthy() error { return healthy(r.stepper.Abandoned()) }

// healthy is Healthy for a number of abandoned tools.
func healthy(abandoned int) error {
	if abandoned < maxAbandoned {
		return nil
	}
	return core.Errorf(core.CodeUnavailable, "%d abandoned tools still run, want fewer than %d", abandoned, maxAbandoned)
}

// Ready returns nil if the store can be reached: it reads the head of a thread that never
// exists.
func (r *Host) Ready(ctx context.Context) error {
	_, err := r.reads.store.Head(ctx, core.ThreadKey{Tenant: "health", Thread: "health"})
	return err
}
