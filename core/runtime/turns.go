package runtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// turns decides what may run beside what in one process, so that a run which
// takes its process down does not take others along again and again:
//
//   - a suspect starts when nothing else runs, never two at once;
//   - beside a suspect nothing else is claimed until it has made progress, which a
//     turn is that its claim has committed, and a result that it has made and stored;
//     once it has run for 10 s, runs that lost one claim at most may be
//     (thread.Run.Lost, which progress does not reset: one lost claim may be
//     anybody's fault);
//   - once a suspect has waited 10 s, nothing new is claimed before it.
//
// It only counts; whoever waits looks again when something has changed.
//
// Nothing is fair about it but what the last rule says: those who wait wake
// together, and the first to take the lock has the turn. There are few of them,
// and what they wait for is a run that has failed before.
//
// What is known of a thread when its turn is asked for may be old when it is given.
// That is why settle says afterwards what the claim has shown; and why an idle
// process, which cannot harm anybody, does not even look.
type turns struct {
	env     *env.Env
	mu      sync.Mutex    // guards what follows; not held over I/O
	changed chan struct{} // closed, and made anew, when a turn ends or is settled: all who wait look again
	running int           // all turns
	suspect *turn         // that runs, or that may be one
	waiting []*turn       // suspects, in the order in which they came
}

const (
	turnPoll     = 500 * time.Millisecond // at the latest: patience ends without a change
	turnPatience = 10 * time.Second
)

func newTurns(e *env.Env) *turns { return &turns{env: e, changed: make(chan struct{})} }

// turn is the right to claim one thread.
type turn struct {
	turns *turns
	since int64 // it came, in unix milliseconds
	began int64 // it was given, likewise
	alone bool  // the process has nothing else to do: a suspect may be claimed
	// waited: it was not given at once, so that time of its invocation is gone, and
	// a step that does not come to an end in the rest proves nothing against its run.
	waited bool
	// attends: the stepper keeps what it is told of the thread. nil: it does not yet.
	attends *run.Stepper
	key     core.ThreadKey
}

// attend comes before the claim of a thread, in its turn: see [run.Stepper.Attend].
func (n *turn) attend(s *run.Stepper, key core.ThreadKey) {
	n.attends, n.key = s, key
	s.Attend(key)
}

// enter waits for the turn of a thread. known is its head, if the caller has
// read it; look reads it otherwise. An idle process looks at nothing: it takes
// whatever it is, and settle says later what it was.
//
// Between a look and the turn another process may claim the thread, or give it up.
// That costs a claim that finds nothing, or a suspect that runs beside others once:
// its claim is refused then (thread.ErrSuspect), and its hint comes back.
func (t *turns) enter(ctx context.Context, known *thread.Head, look func() (thread.Head, error)) (*turn, error) {
	n := &turn{turns: t, since: t.env.Millis()}
	if known == nil && t.idle(n) {
		return n, nil
	}
	defer t.unqueue(n) // whoever gives up must not hold up those behind it
	for {
		head := known
		if head == nil {
			read, err := look()
			if err != nil {
				return nil, err
			}
			head = &read
		}
		changed := t.next() // before the look that it is to correct
		if t.try(n, head.Suspect() && !head.Live(t.env.Millis()), unlucky(*head)) {
			return n, nil
		}
		n.waited = true
		if err := t.wait(ctx, changed); err != nil {
			return nil, err
		}
		known = nil // it may have changed
	}
}

// next is closed with the next change.
func (t *turns) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// wait returns when something has changed, or after turnPoll. It waits by env.Wait on
// a channel, like everything in core: the simulator must know of every wait.
func (t *turns) wait(ctx context.Context, changed <-chan struct{}) error {
	shortly, cancel := t.env.WithTimeout(ctx, turnPoll)
	defer cancel()
	_ = t.env.Wait(shortly, changed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// signal wakes those who wait; the caller holds mu.
func (t *turns) signal() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// idle gives the turn if nothing runs and nobody waits, as to a suspect: until settle
// says otherwise, nothing starts beside it.
func (t *turns) idle(n *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running > 0 || len(t.waiting) > 0 {
		return false
	}
	t.give(n, true)
	return true
}

// give begins a turn; the caller holds mu.
func (t *turns) give(n *turn, alone bool) {
	t.running++
	n.alone, n.began = alone, t.env.Millis()
	if alone {
		t.suspect = n
	}
}

// unlucky reports whether a run has lost more claims than chance explains, or may have:
// the head could not be read.
func unlucky(head thread.Head) bool { return head.Run.Lost > 1 || !head.Exists() }

// try gives the turn if its thread may be claimed now.
func (t *turns) try(n *turn, suspect, unlucky bool) bool {
	now := t.env.Millis()
	patient := func(since int64) bool { return now-since >= turnPatience.Milliseconds() }
	t.mu.Lock()
	defer t.mu.Unlock()
	if suspect {
		if !slices.Contains(t.waiting, n) {
			t.waiting = append(t.waiting, n)
		}
		if t.running > 0 || t.waiting[0] != n {
			return false
		}
		t.give(n, true)
		return true
	}
	t.forget(n) // it may have been one until another hint brought progress
	if len(t.waiting) > 0 && patient(t.waiting[0].since) {
		return false
	}
	if t.suspect != nil && (unlucky || !patient(t.suspect.began)) {
		return false
	}
	t.give(n, false)
	return true
}

// unqueue is forget for whoever gives up. It wakes nobody: the next suspect looks
// again within turnPoll, and giving up is rare.
func (t *turns) unqueue(n *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(n)
}

// forget takes a turn from those that wait as suspects, which lets the next of them
// come first; the caller holds mu.
func (t *turns) forget(n *turn) {
	t.waiting = slices.DeleteFunc(t.waiting, func(w *turn) bool { return w == n })
}

// proved says that the run has made progress: it is no suspect any more.
func (n *turn) proved() { n.settle(false) }

// settle says what the claim has shown: whether the run is a suspect. The turn of an idle process counts as a
// suspect's until then, and the others are let in here.
func (n *turn) settle(suspect bool) {
	n.turns.mu.Lock()
	defer n.turns.mu.Unlock()
	if !suspect && n.turns.suspect == n {
		n.turns.suspect = nil
		n.turns.signal()
	}
}

// leave ends the turn. It settles first, for a turn that ended without a claim or
// whose step failed: nobody must wait for a suspect that is not there. Between the
// two locks another may be given a turn beside this one, which holds nothing then.
func (n *turn) leave() {
	if n.attends != nil {
		n.attends.Forget(n.key)
	}
	n.settle(false)
	n.turns.mu.Lock()
	defer n.turns.mu.Unlock()
	n.turns.running--
	n.turns.signal()
}
