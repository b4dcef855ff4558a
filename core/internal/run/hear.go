package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Attend makes the stepper keep what it is told of a thread, until Forget. It comes before
// the claim, so that what is written between the claim and its step is not missed, nor
// what is between two steps of one claim.
func (s *Stepper) Attend(key core.ThreadKey) {
	s.under.mu.Lock()
	defer s.under.mu.Unlock()
	s.under.attend(key)
}

// Forget is the end of one Attend.
func (s *Stepper) Forget(key core.ThreadKey) {
	s.under.mu.Lock()
	defer s.under.mu.Unlock()
	s.under.forget(key)
}

// Hear returns what was said of an attempt behind what h has, and moves h on. The events
// have the positions that they have in the live stream. here is false when no step of
// this process makes the attempt: what is said of it is read from its chunks.
func (s *Stepper) Hear(key core.ThreadKey, h *live.Hearing) (events []core.Event, here bool) {
	p := s.under.step(key, h.Attempt.Fence)
	if p == nil {
		return nil, false
	}
	return p.chunks.Hear(h), true
}

// Moved tells the steps of this process of a head that the process has written. It does
// not block. Heads of one thread may come out of order. Of a deleted thread nothing is kept in
// memory: no step of this process reads it again, and its id is never used for another thread.
func (s *Stepper) Moved(key core.ThreadKey, head thread.Head) {
	if head.Deleted {
		s.reader.Drop(key)
	}
	s.under.mu.Lock()
	defer s.under.mu.Unlock()
	at := s.under.threads[key]
	if at == nil {
		return
	}
	if head.CommitID != head.HolderCommitID && head.Version > at.head.Version {
		at.head = head
	}
	for p := at.first; p != nil; p = p.behind {
		p.told.hear(&p.hold, &p.news, &head)
	}
}
