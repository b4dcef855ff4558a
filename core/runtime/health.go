package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// What a host reports about this process: whether it serves, and how much it works on.

// Env returns the clock, the ids and the randomness that the runtime was built with.
func (r *Runtime) Env() *env.Env { return r.env }

// MaxAbandoned is the number of abandoned tools that makes a process unhealthy.
const MaxAbandoned = 16

// Abandoned returns how many abandoned tools still run in this process: tools that did not
// return when their context ended.
func (r *Runtime) Abandoned() int { return r.stepper.Abandoned() }

// EffectFailures returns how many effects have failed since the process started. The commit
// that an effect followed is not rolled back, so that a failure is reported only here and in
// the log.
func (r *Runtime) EffectFailures() int64 { return r.stepper.EffectFailures() }

// Healthy returns nil, or with code unavailable why the process should be replaced:
// abandoned tools hold their goroutines and all that they use until they return, and only
// the end of the process can stop them.
func (r *Runtime) Healthy() error { return healthy(r.Abandoned()) }

// healthy is Healthy for a number of abandoned tools.
func healthy(abandoned int) error {
	if abandoned < MaxAbandoned {
		return nil
	}
	return core.Errorf(core.CodeUnavailable, "%d tools do not end when they are told to, and still run; fewer than %d are allowed", abandoned, MaxAbandoned)
}

// Ready returns nil if the store can be reached: it reads the head of a thread that never
// exists.
func (r *Runtime) Ready(ctx context.Context) error {
	_, err := r.reads.store.Head(ctx, core.ThreadKey{Tenant: "health", Thread: "health"})
	return err
}

// Working returns how many runs this process works on now: each has the claim of its
// thread, or is about to take it.
func (r *Runtime) Working() int {
	p := r.worker.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// Followers returns how many streams follow a thread in this process: their run is another
// worker's, or waits.
func (r *Runtime) Followers() int {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	n := 0
	for _, at := range r.watches.threads {
		n += at.followers
	}
	return n
}
