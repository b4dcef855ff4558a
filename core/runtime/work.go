package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// aloneDelay is how long the other hints of a suspect's batch wait: enough for a
// process to crash, if that is what it is about to do.
const aloneDelay = time.Second

// WorkBatch handles the wake-ups of one delivery of the queue, all at once: it
// claims each thread, takes as many steps as the configuration and the
// context's deadline allow, and leaves the next wake-up on the queue. It returns
// an error for each wake-up that should be delivered again, nil for the others;
// the failure of one never touches another.
//
// A crash of the process takes the whole batch along, which nothing prevents.
// The heads are therefore read before any claim, and when one of them shows a
// suspect (see thread.Head.Suspect), that run goes alone and the others' hints
// are sent again.
func (r *Runtime) WorkBatch(ctx context.Context, hints []core.WakeUp) []error {
	errs := make([]error, len(hints))
	if r.billed { // the batch was received with one request, and is deleted with another
		ctx = received(ctx, len(hints))
	}
	if len(hints) == 1 {
		errs[0] = r.WorkLocal(ctx, hints[0])
		return errs
	}
	heads, suspect := r.look(ctx, hints)
	group, shared := r.env.Group(ctx)
	for i, hint := range hints {
		group.Go(func(context.Context) error {
			errs[i] = env.Protect(func() error {
				if suspect >= 0 && i != suspect {
					return r.mailbox.Wake(shared, hint, aloneDelay)
				}
				return r.work(shared, hint, heads[i])
			})
			return nil // an error would cancel the other threads
		})
	}
	_ = group.Wait() // which has none: each has its own
	return errs
}

// look reads the heads of the hints, and returns the index of the first whose
// run is a suspect that can be claimed, -1 when there is none. A head that
// cannot be read is nil: its claim will say what is wrong.
func (r *Runtime) look(ctx context.Context, hints []core.WakeUp) (heads []*thread.Head, suspect int) {
	heads = make([]*thread.Head, len(hints))
	group, shared := r.env.Group(ctx)
	for i, hint := range hints {
		if hint.Check() != nil || hint.Kind == core.WakeCompact {
			continue
		}
		group.Go(func(context.Context) error {
			if head, err := r.mailbox.Head(shared, hint.Key()); err == nil {
				heads[i] = &head
			}
			return nil
		})
	}
	_ = group.Wait() // it only reads
	for i, head := range heads {
		if head != nil && head.Suspect() && !head.Live(r.env.Millis()) {
			return heads, i
		}
	}
	return heads, -1
}

// WorkLocal is WorkBatch for one wake-up in a process that works on others at
// the same time: the local host, or a function that serves several invocations
// at once. A suspect waits until nothing else runs, and nothing else is claimed
// beside it: see turns.
func (r *Runtime) WorkLocal(ctx context.Context, hint core.WakeUp) error {
	return r.work(ctx, hint, nil)
}

// work waits for the thread's turn, claims it and steps. known is its head, if
// the caller has read it.
//
// The order matters. The turn comes before the claim, whose lease would run out
// while it waits. The hint is acknowledged, by returning nil, only when the thread
// has another or needs none: after a step that was committed, since the commit sends
// the next; after one that was left to a later claim, when handOn has seen to it.
func (r *Runtime) work(ctx context.Context, hint core.WakeUp, known *thread.Head) error {
	if err := hint.Check(); err != nil {
		return err
	}
	if hint.Kind == core.WakeCompact { // it claims nothing, and waits for nobody's turn
		return r.stepper.Compact(ctx, hint.Key())
	}
	ctx, leave := r.metered(ctx, hint.Key())
	defer leave()
	var head thread.Head
	if known != nil {
		head = *known
	}
	turn, err := r.turns.enter(ctx, known, func() (_ thread.Head, err error) {
		if head, err = r.mailbox.Head(ctx, hint.Key()); err != nil && ctx.Err() == nil {
			return thread.Head{}, nil // the claim will say what is wrong, and when to try again
		}
		return head, err
	})
	if err != nil { // the time is over: as the queue's failure the message would be hidden for minutes
		if failed := r.mailbox.Wake(ctx, hint, aloneDelay); failed != nil {
			return errors.Join(err, failed)
		}
		return nil
	}
	head, own, err := r.workIn(ctx, hint, head, turn)
	if err == nil { // the turn is over: to tell others takes as long as they like
		r.tell(ctx, hint.Key(), head, own)
	}
	return err
}

// workIn is work in its turn, which it ends. It returns the newest head that it knows,
// and the version from which on the head's announcements are its own.
func (r *Runtime) workIn(ctx context.Context, hint core.WakeUp, known thread.Head, turn *turn) (head thread.Head, own uint64, err error) {
	defer turn.leave()
	turn.attend(r.stepper, hint.Key())
	head, claimed, err := r.mailbox.ClaimFrom(ctx, known, hint, turn.alone)
	if err != nil || !claimed {
		return head, mailbox.Own, err
	}
	own = head.Version
	head, err = r.stepOn(ctx, hint, head, turn)
	return head, own, err
}

// tell tells what the thread has to tell. What could not be written down is told again,
// under a hint of its own: the one that brought the worker here has done its work.
func (r *Runtime) tell(ctx context.Context, key core.ThreadKey, head thread.Head, own uint64) {
	if err := r.mailbox.Tell(ctx, key, head, own); err != nil {
		r.log.WarnContext(ctx, "what was told is told again", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		r.mailbox.WakeToTell(ctx, key, head)
	}
}

// stepOn steps a thread that was claimed, in its turn, and returns the newest head that
// it knows.
func (r *Runtime) stepOn(ctx context.Context, hint core.WakeUp, head thread.Head, turn *turn) (thread.Head, error) {
	turn.settle(head.Run.Attempts > thread.SuspectAt) // this claim included
	var followed int64
	if hint.Dispatch == head.Run.Dispatch {
		followed = hint.Followed
	}
	for n := 1; ; n++ {
		// Whole: the step had all the time that an invocation has. When even that was
		// not enough, no other try will be.
		stepped, err := r.stepper.Step(ctx, run.Work{
			Key: hint.Key(), Head: head, Keep: n < r.steps && r.timeLeft(ctx), Whole: n == 1 && !turn.waited,
			Proved: turn.proved, Followed: followed,
		}, nil)
		if left(err) {
			return head, r.handOn(ctx, hint, err)
		}
		if err != nil {
			return head, fmt.Errorf("step: %w", err)
		}
		head, followed = stepped.Head, stepped.Followed
		if stepped.Outcome != thread.Continue {
			return head, nil
		}
		turn.proved()
	}
}

// left reports whether a step was left to another claim: a later one has the
// run, or will have it when the lease is over. Nothing that it did is visible, but
// for results of tools, which the later claim adopts.
func left(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrApplied)
}

// handOn wakes the thread of a step that was left, if nobody else does. A later
// claim has hints of its own. But the step's own write may have given the claim
// back without a confirmation that came in time: then nobody has sent its hint.
func (r *Runtime) handOn(ctx context.Context, hint core.WakeUp, why error) error {
	if errors.Is(why, thread.ErrApplied) { // its claim stands until the lease is over, and nobody works under it
		return r.mailbox.Wake(ctx, hint, r.mailbox.Lease())
	}
	head, err := r.mailbox.Head(ctx, hint.Key())
	if err == nil && (head.Live(r.env.Millis()) || head.DueAt == 0 || head.Deleted) { // the rest of that is the sweep's
		return nil
	}
	return r.mailbox.Wake(ctx, hint, 0)
}
