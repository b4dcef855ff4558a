package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// solo is the queue of a runtime without workers. What is to be done on a thread that
// a call waits for is in the thread's head, which that call looks at by itself. Kept
// here are the hints of the other threads, for whoever waits for anything.
type solo struct {
	env *env.Env

	mu    sync.Mutex // guards what follows; not held over I/O
	lines map[core.ThreadKey]*line
}

// line is what is known of a thread that has a hint or calls that wait for it.
type line struct {
	waiting int           // calls
	hinted  bool          // hint is to be worked off
	hint    core.WakeUp   // the earliest
	at      time.Time     // when it is due
	changed chan struct{} // closed with the next news for those who wait; nil: nobody does
}

func newSolo(e *env.Env) *solo { return &solo{env: e, lines: map[core.ThreadKey]*line{}} }

// Wake implements mailbox.Waker. One hint for a thread is enough, the earliest: who
// follows it and finds only later work to do sends another.
func (s *solo) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	at := s.env.Now().Add(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(hint.Key())
	if !l.hinted || at.Before(l.at) {
		l.hinted, l.hint, l.at = true, hint, at
	}
	if l.waiting > 0 {
		l.signal()
	} else { // whoever waits for another thread will do
		s.signalAll()
	}
	return nil
}

// line returns what is known of a thread; the caller holds mu.
func (s *solo) line(key core.ThreadKey) *line {
	l := s.lines[key]
	if l == nil {
		l = &line{}
		s.lines[key] = l
	}
	return l
}

// signal wakes those who wait for the thread; the caller holds mu.
func (l *line) signal() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// moved tells those who wait for a thread that its head has changed.
func (s *solo) moved(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		l.signal()
	}
}

// next is closed with the next news of the thread, or of threads that nobody waits for.
func (s *solo) next(key core.ThreadKey) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(key)
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// join says that a call waits for a thread, until quit.
func (s *solo) join(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(key).waiting++
}

// quit ends a join. A hint of the thread stays for those who wait for others: the
// thread may have more to do than this call has waited for.
func (s *solo) quit(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(key)
	l.waiting--
	switch {
	case l.waiting > 0:
	case !l.hinted:
		delete(s.lines, key)
	default:
		s.signalAll()
	}
}

// signalAll wakes all who wait; the caller holds mu.
func (s *solo) signalAll() {
	for _, l := range s.lines {
		l.signal()
	}
}

// pop removes the first hint of a thread that nobody waits for, if one is due, and
// says otherwise when the next will be; zero: there is none.
func (s *solo) pop() (hint core.WakeUp, due bool, at time.Time) {
	now := s.env.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *line
	for _, l := range s.lines {
		if l.hinted && l.waiting == 0 && (first == nil || l.at.Before(first.at)) {
			first = l
		}
	}
	switch {
	case first == nil:
		return hint, false, at
	case first.at.After(now):
		return hint, false, first.at
	}
	delete(s.lines, first.hint.Key()) // whoever sends another begins another line
	return first.hint, true, at
}
