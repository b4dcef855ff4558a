package run

import (
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A step need not wait for the watch to see what its own process writes to the
// head: the committer passes each head that it has written to the stepper, and the
// stepper to those steps that work on the thread. So a cancel, an interrupt or a
// decision through the same process takes effect immediately. The watch finds the
// writes of other processes.

// under are the threads that this process works on.
type under struct {
	mu      sync.Mutex // not held over I/O
	threads map[core.ThreadKey]*attended
	spare   *attended // for the next thread; nil: none is
}

// attended is a thread that is worked on, or is about to be.
type attended struct {
	count int         // of those who attend to it, steps among them
	first *shared     // and, linked from it, the others of the thread, of which all but one have lost their claims
	head  thread.Head // the newest that came here and that no holder wrote
}

// attend counts one who attends to a thread; the caller holds mu.
func (u *under) attend(key core.ThreadKey) *attended {
	at := u.threads[key]
	if at == nil {
		if u.threads == nil {
			u.threads = map[core.ThreadKey]*attended{}
		}
		if at = u.spare; at == nil {
			at = &attended{}
		}
		u.threads[key], u.spare = at, nil
	}
	at.count++
	return at
}

// forget is the end of an attend; the caller holds mu.
func (u *under) forget(key core.ThreadKey) {
	if at := u.threads[key]; at != nil {
		if at.count--; at.count == 0 {
			delete(u.threads, key)
			*at = attended{}
			u.spare = at
		}
	}
}

// enter registers a step for notices, until exit.
func (u *under) enter(key core.ThreadKey, p *shared) {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.attend(key)
	p.behind, at.first = at.first, p
	p.told.hear(&p.hold, &p.news, &at.head) // of version 0, which has no news, if none came
}

// exit is the end of an enter.
func (u *under) exit(key core.ThreadKey, p *shared) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for at := &u.threads[key].first; *at != nil; at = &(*at).behind {
		if *at == p {
			*at = p.behind
			break
		}
	}
	u.forget(key)
}

// step returns what is shared with the step of a thread that has a claim's fence; nil: none here has.
func (u *under) step(key core.ThreadKey, fence uint64) *shared {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.threads[key]
	if at == nil {
		return nil
	}
	p := at.first
	for p != nil && p.hold.fence.Load() != fence {
		p = p.behind
	}
	return p
}

// told is a step's knowledge of heads of its own thread. Its lock is the only one
// that the writers of heads and the step share, other than that of news.
type told struct {
	from uint64 // version of the head that the step began with: older ones say nothing

	mu       sync.Mutex   // guards what follows
	group    *env.Group   // of the work that is watched; nil: none is
	unsaid   *thread.Head // stops the next work: it came while none was watched
	released bool         // the step has given up its claim
}

// watches names the work that an end from outside stops; nil: none.
func (t *told) watches(h *hold, group *env.Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.group = group; t.unsaid == nil { // of what has ended it is nil
		return
	}
	if err := h.judge(t.unsaid); err != nil {
		group.Fail(err)
	}
	t.unsaid = nil
}

// hear takes a head that this process has written. The writes of holders are the
// step's own, or follow the claim that took over, which comes here as well: a write
// of the step itself must not stop it, although the claim is gone with it.
func (t *told) hear(h *hold, n *news, head *thread.Head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case head.Version <= t.from || t.released:
		return
	case head.CommitID == head.HolderCommitID:
		t.released = head.Claim.Fence == 0
		return
	}
	err := h.judge(head)
	if err == nil || h.look(head.Claim.Fence) == lookOwn {
		n.offer(*head)
	}
	switch {
	case err == nil:
	case t.group != nil:
		t.group.Fail(err)
	case t.unsaid == nil || t.unsaid.Version < head.Version:
		unsaid := *head
		t.unsaid = &unsaid
	}
}
