package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// permits decides which runs may be claimed side by side in one process, so that a run
// that crashes its process does not take other runs with it again and again. Each run
// that a process steps holds a permit from before its claim until its last step.
//
//   - A suspect (thread.Head.Suspect) starts when nothing else runs. Two suspects
//     never run at the same time.
//   - While a suspect runs, nothing else is claimed until the suspect has made progress:
//     a commit of its claim, or a result that it has made and stored. After permitPatience,
//     runs that lost at most one claim may be claimed: one lost claim may be any run's fault.
//     thread.Run.Lost counts lost claims, and progress does not reset it.
//   - Once a suspect has waited for permitPatience, nothing new is claimed before it, and what
//     runs keeps its claim for no further step: a stream steps its run to the end otherwise.
//
// permits only counts. Waiters look again whenever something has changed. Only the
// last rule makes it fair: all waiters wake together and the first to take the lock gets
// the permit. They are few, and they wait for a run that has failed before.
//
// The head that a permit was requested with may be old when the permit is granted. So
// classify reports later what the claim has shown, and an idle process, which can harm
// no other run, does not even read the head.
type permits struct {
	env     *env.Env
	mu      sync.Mutex    // guards the fields below; not held over I/O
	changed chan struct{} // closed and replaced when a permit is released or classified: all waiters look again
	running int           // permits that are held
	suspect *permit       // the permit of a suspect, or of a run that may be one; nil: none is held
	waiting []*permit     // suspects without a permit, in order of arrival
}

const (
	// permitPoll is the longest wait between two looks, since patience ends without a
	// change that could wake a waiter.
	permitPoll = 500 * time.Millisecond
	// permitPatience is how long a suspect runs alone, and how long one waits at most
	// while others start.
	permitPatience = 10 * time.Second
)

func newPermits(e *env.Env) *permits { return &permits{env: e, changed: make(chan struct{})} }

// permit is the right to claim one thread.
type permit struct {
	permits *permits
	since   int64 // time of the request, unix milliseconds
	began   int64 // when it was granted, unix milliseconds
	alone   bool  // the process does nothing else: a suspect may be claimed
	// waited reports that the permit was not granted immediately. Part of the
	// invocation's time is gone then, and a step that does not finish in the rest proves
	// nothing against its run.
	waited bool
	// attends is the stepper that keeps what it learns of the thread until release; nil:
	// none does yet.
	attends *run.Stepper
	key     core.ThreadKey
	input   *thread.Queued // see run.Work; nil: the permit was not for a submission
}

// newPermit returns a permit that is not granted yet.
func (p *permits) newPermit() *permit { return &permit{permits: p, since: p.env.Millis()} }

// attend makes the stepper keep what it learns of the thread from now until release. It
// must precede the claim: see [run.Stepper.Attend].
func (n *permit) attend(s *run.Stepper, key core.ThreadKey) {
	n.attends, n.key = s, key
	s.Attend(key)
}

// acquire waits for the permit of a thread. known is the thread's head if the caller has read
// it, else look reads it. An idle process reads nothing: it grants the permit for any thread,
// and classify later reports the state of that thread.
//
// Between a look and the permit another process may claim the thread, or release it.
// The cost is a claim that finds nothing, or a suspect that once starts while others run:
// the store refuses its claim then (thread.ErrSuspect), and its hint is delivered again.
func (p *permits) acquire(ctx context.Context, known *thread.Head, look func() (thread.Head, error)) (*permit, error) {
	n := p.newPermit()
	if known == nil && p.acquireIdle(n) {
		return n, nil
	}
	defer p.withdraw(n) // a suspect that gives up must not delay those after it
	for {
		head := known
		if head == nil {
			read, err := look()
			if err != nil {
				return nil, err
			}
			head = &read
		}
		changed := p.next() // before the look that a change would correct
		now := p.env.Millis()
		if p.tryAcquire(n, head.Suspect() && !head.Live(now), unlucky(head, now)) {
			return n, nil
		}
		n.waited = true
		if err := p.wait(ctx, changed); err != nil {
			return nil, err
		}
		known = nil // the head may have changed
	}
}

// next returns a channel that is closed with the next change.
func (p *permits) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// wait returns after a change, or after permitPoll. It waits through env.Wait, like all of
// core: the simulator must see every wait.
func (p *permits) wait(ctx context.Context, changed <-chan struct{}) error {
	shortly, cancel := p.env.WithTimeout(ctx, permitPoll)
	defer cancel()
	_ = p.env.Wait(shortly, changed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// signal wakes the waiters. The caller holds mu.
func (p *permits) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// acquireIdle grants the permit if nothing runs and nothing waits. The run counts as a suspect
// until classify corrects that: nothing starts until then.
func (p *permits) acquireIdle(n *permit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running > 0 || len(p.waiting) > 0 {
		return false
	}
	p.grant(n, true)
	return true
}

// grant starts a permit. The caller holds mu.
func (p *permits) grant(n *permit, alone bool) {
	p.running++
	n.alone, n.began = alone, p.env.Millis()
	if alone {
		p.suspect = n
	}
}

// unlucky reports whether a run has lost more claims than chance explains. A head that
// could not be read counts as one.
func unlucky(head *thread.Head, now int64) bool {
	lost := head.Run.Lost
	if head.Claim.Fence != 0 && !head.Live(now) { // the claim that is asked for takes it over
		lost++
	}
	return lost > 1 || !head.Exists()
}

// tryAcquire grants the permit if the rules of [permits] allow the claim now. It
// never waits; a suspect that is refused joins the waiting suspects.
func (p *permits) tryAcquire(n *permit, suspect, unlucky bool) bool {
	now := p.env.Millis()
	p.mu.Lock()
	defer p.mu.Unlock()
	if suspect {
		if !slices.Contains(p.waiting, n) {
			p.waiting = append(p.waiting, n)
		}
		if p.running > 0 || p.waiting[0] != n {
			return false
		}
		p.grant(n, true)
		return true
	}
	p.dequeue(n) // it may have been a suspect until another hint brought progress
	if p.overdue(now) {
		return false
	}
	if p.suspect != nil && (unlucky || !patient(now, p.suspect.began)) {
		return false
	}
	p.grant(n, false)
	return true
}

// patient reports whether permitPatience has passed since a time, unix milliseconds.
func patient(now, since int64) bool { return now-since >= permitPatience.Milliseconds() }

// overdue reports whether the first suspect has waited for permitPatience. The caller holds mu.
func (p *permits) overdue(now int64) bool {
	return len(p.waiting) > 0 && patient(now, p.waiting[0].since)
}

// wanted reports whether those that hold permits are to release them after their steps.
func (p *permits) wanted() bool {
	now := p.env.Millis()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.overdue(now)
}

// withdraw removes a permit that is no longer wanted from the waiting suspects. It
// signals nothing: the next suspect looks again within permitPoll, and giving up is rare.
func (p *permits) withdraw(n *permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dequeue(n)
}

// dequeue removes a permit from the waiting suspects, so that the next of them comes
// first. The caller holds mu.
func (p *permits) dequeue(n *permit) {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *permit) bool { return w == n })
}

// proved reports that the run has made progress and is no longer a suspect.
func (n *permit) proved() { n.classify(false) }

// classify reports what the claim has shown: whether the run is a suspect. Until then
// the permit of an idle process counts as a suspect's; if it is not, the waiters are
// admitted here.
func (n *permit) classify(suspect bool) {
	n.permits.mu.Lock()
	defer n.permits.mu.Unlock()
	if !suspect && n.permits.suspect == n {
		n.permits.suspect = nil
		n.permits.signal()
	}
}

// release ends the permit. It classifies first, for a permit without a claim or with a failed
// step: no waiter may wait for a suspect that is gone. Between the two locks another permit may
// be granted while this one exists, which claims nothing any more.
func (n *permit) release() {
	if n.attends != nil {
		n.attends.Forget(n.key)
	}
	n.classify(false)
	n.permits.mu.Lock()
	defer n.permits.mu.Unlock()
	n.permits.running--
	n.permits.signal()
}

// working returns how many permits are held.
func (p *permits) working() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}
