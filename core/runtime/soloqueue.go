package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// solo is the queue of a runtime without workers. A call that waits for a thread reads from
// the thread's head what there is to do. solo keeps the hints of the other threads, for any
// call that waits. Unlike a real queue it loses its hints with the process, but so are the
// threads of such a runtime lost.
type solo struct {
	env *env.Env

	mu    sync.Mutex // guards lines and every line in it; not held over I/O
	lines map[core.ThreadKey]*line
}

// line is a thread that has a hint, or that calls wait for.
type line struct {
	waiting int           // calls that wait for the thread
	hinted  bool          // hint is not worked off yet
	hint    core.WakeUp   // the earliest hint
	at      time.Time     // when hint is due
	changed chan struct{} // closed with the next news of the thread; nil: no call waits for news
}

func newSolo(e *env.Env) *solo { return &solo{env: e, lines: map[core.ThreadKey]*line{}} }

// Wake implements mailbox.Waker. It keeps the earliest hint of a thread: a worker that
// follows it and finds only later work sends another. It never fails.
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
	} else { // a call that waits for another thread will work on it
		s.signalAll()
	}
	return nil
}

// line returns a thread's line, a new one if it has none. The caller holds mu.
func (s *solo) line(key core.ThreadKey) *line {
	l := s.lines[key]
	if l == nil {
		l = &line{}
		s.lines[key] = l
	}
	return l
}

// signal wakes the calls that wait for the thread. The caller holds mu.
func (l *line) signal() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// moved wakes the calls that wait for a thread: its head has changed.
func (s *solo) moved(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		l.signal()
	}
}

// next returns a channel that is closed with the next news of the thread, or of threads
// that no call waits for.
func (s *solo) next(key core.ThreadKey) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(key)
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// join notes that a call waits for a thread, until quit.
func (s *solo) join(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(key).waiting++
}

// quit ends a join. A hint of the thread stays for calls that wait for other threads: the
// thread may have more work than this call has waited for.
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

// signalAll wakes the waiting calls of all threads. The caller holds mu.
func (s *solo) signalAll() {
	for _, l := range s.lines {
		l.signal()
	}
}

// pop removes the earliest hint of the threads that no call waits for, if it is due. Else
// it returns when it will be; zero: there is no such hint.
func (s *solo) pop() (hint core.WakeUp, due bool, at time.Time) {
	now := s.env.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	// A process has few threads with hints at a time; a heap would not pay.
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
	delete(s.lines, first.hint.Key()) // a later hint starts another line
	return first.hint, true, at
}
