package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Attend makes the stepper keep the news of a thread, until Forget. Call it before
// the claim, so that writes between the claim and its step are not missed, nor
// those between two steps of one claim.
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

// Hear returns the words of an attempt after those that h has, and moves h on. The
// events have the positions that they have in the live stream. here is false when
// no step of this process makes the attempt: its words are then read from its
// chunks.
func (s *Stepper) Hear(key core.ThreadKey, h *live.Hearing) (events []core.Event, here bool) {
	p := s.under.step(key, h.Attempt.Fence)
	if p == nil {
		return nil, false
	}
	return p.chunks.Hear(h), true
}

// Moved notifies the steps of this process of a head that the process has written.
// It does not block. Heads of one thread may come out of order. Nothing of a
// deleted thread is kept in memory: no step of this process reads it again, and its
// id is never used for another thread.
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
