package runtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/thread"
)

// New returns a runtime for a program that runs agents by itself: on the real clock,
// with everything in memory, and without workers. The calls that wait for a run
// ([Runtime.Run], [Runtime.Events], [Runtime.Resume], [Runtime.Stream]) take its
// steps themselves, in goroutines that have ended when they return; between two calls
// nothing runs. What [Runtime.Submit] queues is taken along by whichever call waits
// next.
//
// Threads stay in memory as long as the runtime does, so that one can be gone on with:
// a program that runs for long keeps them in a store, by [Build].
//
// Warnings and errors are logged by [slog.Default]; that a run has finished, the call
// says. The error is that of the parts, see [agent.NewRegistry].
func New(parts agent.Parts) (*Runtime, error) {
	system, quiet := env.System(), slog.New(warnings{slog.Default().Handler()})
	r, err := Build(Config{Env: system, Store: memory.New(), Waker: newSolo(system), Agents: parts, Logger: quiet, Poll: soloPoll, LeaveFor: -1})
	if err != nil {
		return nil, err
	}
	r.reserve = 0 // there is no queue that a run would have to go back to in time
	return r, nil
}

// soloPoll is how soon a step of this process sees that another call has cancelled or
// interrupted its run: to look into memory costs nothing.
const soloPoll = 50 * time.Millisecond

// warnings is a handler of what is a warning at least.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

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
		l.tell()
	} else { // whoever waits for another thread will do
		s.tellAll()
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

// tell wakes those who wait for the thread; the caller holds mu.
func (l *line) tell() {
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
		l.tell()
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

// join says that a call waits for a thread, until leave.
func (s *solo) join(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(key).waiting++
}

// leave ends a join. A hint of the thread stays for those who wait for others: the
// thread may have more to do than this call has waited for.
func (s *solo) leave(key core.ThreadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(key)
	l.waiting--
	switch {
	case l.waiting > 0:
	case !l.hinted:
		delete(s.lines, key)
	default:
		s.tellAll()
	}
}

// tellAll wakes all who wait; the caller holds mu.
func (s *solo) tellAll() {
	for _, l := range s.lines {
		l.tell()
	}
}

// take removes the first hint of a thread that nobody waits for, if one is due, and
// says otherwise when the next will be; zero: there is none.
func (s *solo) take() (hint core.WakeUp, due bool, at time.Time) {
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

// workFor returns the thread's head as soon as it is another than seen, and does
// meanwhile what there is to do: on the thread, as its head says, and on threads that
// nobody waits for, of which hints tell. The error is the cause of ctx's end, or why
// the head cannot be read.
func (f *follower) workFor(ctx context.Context, seen thread.Head) (thread.Head, error) {
	for tried := false; ; {
		changed := f.solo.next(f.key) // before the looks that it is to correct
		head, err := f.head(ctx, f.key)
		if err != nil {
			return seen, err
		}
		if head.Version != seen.Version || head.Incarnation != seen.Incarnation {
			return head, nil
		}
		now := f.env.Millis()
		if head.DueAt != 0 && head.DueAt <= now && !tried {
			tried = true // a claim that came to nothing is not repeated at once
			err = f.takeUp(ctx, head)
		} else if hint, due, at := f.solo.take(); due {
			f.workOff(ctx, hint)
		} else {
			f.pause(ctx, changed, head, at)
			tried = false
		}
		if ctx.Err() != nil {
			return seen, context.Cause(ctx)
		}
		if err != nil {
			return seen, err
		}
	}
}

// pause waits until something has changed or is due: on the thread by its head, on
// others at the time at.
func (f *follower) pause(ctx context.Context, changed <-chan struct{}, head thread.Head, at time.Time) {
	if head.DueAt != 0 {
		own := time.UnixMilli(head.DueAt)
		if again := f.env.Now().Add(turnPoll); own.Before(again) && head.DueAt <= f.env.Millis() {
			own = again // it is due, and could not be taken up
		}
		if at.IsZero() || own.Before(at) {
			at = own
		}
	}
	until, cancel := ctx, context.CancelFunc(func() {})
	if !at.IsZero() {
		until, cancel = f.env.WithDeadline(ctx, at)
	}
	defer cancel()
	_ = f.env.Wait(until, changed) // its end is no news, ctx's is the caller's
}

// workOff follows the hint of another thread, whose failure is not this run's.
func (r *Runtime) workOff(ctx context.Context, hint core.WakeUp) {
	if err := r.WorkLocal(ctx, hint); err != nil {
		r.log.ErrorContext(ctx, "work for another thread failed, it is tried again", "tenant", hint.Tenant, "thread", hint.Thread, "error", err)
		_ = r.solo.Wake(ctx, hint, aloneDelay) // which has no error
	}
}

// takeUp claims the thread and steps: the follower's own run for its audience, any
// other, which stands before it, for nobody.
func (f *follower) takeUp(ctx context.Context, head thread.Head) error {
	turn, err := f.turns.enter(ctx, nil, func() (thread.Head, error) { return f.head(ctx, f.key) })
	if err != nil {
		return err
	}
	hint := hintOf(f.key, head)
	turn.attend(f.stepper, f.key)
	claimed, ok, err := f.mailbox.ClaimFrom(ctx, head, hint, turn.alone)
	switch {
	case err != nil || !ok:
		turn.leave()
		if err == nil {
			f.tell(ctx, f.key, claimed, mailbox.Own)
		}
		return err
	case claimed.Run.ID == f.run:
		turn.settle(claimed.Run.Attempts > thread.SuspectAt)
		f.overtaken(ctx, claimed)
		f.inline(ctx, claimed, turn)
		return nil
	}
	stepped, err := func() (thread.Head, error) {
		defer turn.leave()
		return f.stepOn(ctx, hint, claimed, turn)
	}()
	if err == nil {
		f.tell(ctx, f.key, stepped, claimed.Version)
	} else {
		f.log.ErrorContext(ctx, "a run before the one that is waited for failed, it is tried again", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", claimed.Run.ID, "error", err)
	}
	return nil
}
