package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// MaxAbandoned is how many tools that were left behind make a process unhealthy.
const MaxAbandoned = 16

// Abandoned is how many tools were left behind, because they did not end when
// their context did, and still run in this process.
func (r *Runtime) Abandoned() int { return r.stepper.Abandoned() }

// EffectFailures is how many effects have failed since this process began: nothing
// rolls back what they came with, so that nobody else is told but the log.
func (r *Runtime) EffectFailures() int64 { return r.stepper.EffectFailures() }

// Healthy returns nil, or why the process should be replaced, with code
// unavailable: tools that were left behind hold their goroutines and whatever they
// use until they end, and nothing but the end of the process can stop them.
func (r *Runtime) Healthy() error { return healthy(r.Abandoned()) }

func healthy(abandoned int) error {
	if abandoned < MaxAbandoned {
		return nil
	}
	return core.Errorf(core.CodeUnavailable, "%d tools do not end when they are told to, and still run; fewer than %d are allowed", abandoned, MaxAbandoned)
}

// Ready returns nil when the store can be reached: it reads the head of a thread that
// nobody has.
func (r *Runtime) Ready(ctx context.Context) error {
	_, err := r.reads.store.Head(ctx, core.ThreadKey{Tenant: "health", Thread: "health"})
	return err
}

// Working is how many runs this process works on now: each holds the claim of its
// thread, or is about to take it.
func (r *Runtime) Working() int {
	p := r.worker.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// Followers is how many readers follow a thread in this process, and are told of what
// becomes of it: streams whose run another works on, or that waits.
func (r *Runtime) Followers() int {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	n := 0
	for _, at := range r.watches.threads {
		n += at.followers
	}
	return n
}
