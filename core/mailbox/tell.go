package mailbox

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
)

// How long what could not be told waits for its next try: about as long again as it
// has waited, within these bounds, so that nothing need be counted.
const (
	firstRetry     = 500 * time.Millisecond
	parentRetry    = time.Minute // at most
	announceRetry  = time.Hour   // at most
	unheardFor     = 24 * time.Hour
	announceWithin = 15 * time.Second // a publisher has so long
	// skew is by how many milliseconds the clock may be slow of whoever a hint brings: to
	// come too early does no harm, and another hint would be sent for nothing.
	skew = 500
)

// Own is the version from which on a head's announcements are those of a caller of
// Tell that has made none.
const Own = ^uint64(0)

// Tell tells what a thread has to tell: parents that a child is over, and the
// publisher what happened to runs. Each is cleared from the head when it was told, and
// put off when it could not be. What is not due yet is left alone, but for
// announcements of the caller's own writes: those from the version own on.
//
// Whoever works on wake-ups calls it with the newest head that it knows, after its own
// work; a process that dies before leaves it to the sweep. So everything is told at
// least once: parents know what they were told before, receivers of announcements know
// them by their ids. The error is that of a head that could not be written.
func (s *Service) Tell(ctx context.Context, key core.ThreadKey, head thread.Head, own uint64) error {
	var failed error
	wrote, left := false, false
	for _, n := range head.Notifies() {
		if n.Retry > s.env.Millis()+skew && !(n.Announces() && n.Version >= own) {
			left = true
			continue
		}
		if ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
		told := thread.Notified{Child: n.Child, Kind: n.Kind, Version: n.Version}
		if n.Announces() && n.Version < own {
			next, mine, err := s.begin(ctx, key, head, n)
			if err != nil {
				failed = errors.Join(failed, err)
			}
			if head = next; err != nil || !mine {
				continue
			}
		}
		if again := s.tell(ctx, key, head, n); again > 0 {
			told.Retry = s.env.Millis() + again.Milliseconds()
		}
		next, _, err := s.Commit(context.WithoutCancel(ctx), key, head, told, nil)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		head, wrote = next, true
	}
	if wrote && left { // the hint that told of both is used up
		s.WakeToTell(ctx, key, head)
	}
	return failed
}

// begin takes an announcement that another process has left, for as long as a publisher
// has: the sweep's hint and another may bring two workers at once, and a receiver should
// not hear of everything twice. A parent knows what it was told before, at no cost.
func (s *Service) begin(ctx context.Context, key core.ThreadKey, head thread.Head, n thread.Notify) (next thread.Head, mine bool, err error) {
	next, result, err := s.Commit(ctx, key, head, thread.Notified{
		Child: n.Child, Kind: n.Kind, Version: n.Version, Retry: s.env.Millis() + announceWithin.Milliseconds(), Was: n.Retry,
	}, nil)
	return next, err == nil && !result.Duplicate, err
}

// tell tells one of them, and returns when it is to be tried again; 0: never.
func (s *Service) tell(ctx context.Context, key core.ThreadKey, head thread.Head, n thread.Notify) (again time.Duration) {
	var since int64
	var most time.Duration
	err := env.Protect(func() (err error) {
		if n.Announces() {
			since, most = n.At, announceRetry
			return s.announce(ctx, key, head, n)
		}
		most = parentRetry
		since, err = s.tellParent(ctx, key, head, n)
		return err
	})
	if err == nil {
		return 0
	}
	age := time.Duration(max(0, s.env.Millis()-since)) * time.Millisecond
	if errors.Is(err, errUnheard) && age > unheardFor {
		s.log.WarnContext(ctx, "nobody is told any more: no publisher is configured", "tenant", key.Tenant, "thread", key.Thread, "run", n.Child, "what", n.Kind.String())
		return 0
	}
	again = min(max(age, firstRetry), most)
	again = again/2 + s.env.Jitter(again/2) + time.Millisecond
	if !errors.Is(err, errNotYet) && !errors.Is(err, errUnheard) {
		s.log.WarnContext(ctx, "could not be told, it is tried again", "tenant", key.Tenant, "thread", key.Thread, "run", n.Child, "what", n.Kind.String(), "in", again.Round(time.Millisecond).String(), "error", err)
	}
	return again
}

// WakeToTell wakes a worker for what a thread has to tell, if there is something, for
// a caller that has written the head and tells nobody itself, or could not.
func (s *Service) WakeToTell(ctx context.Context, key core.ThreadKey, head thread.Head) {
	list := head.Notifies()
	if len(list) == 0 {
		return
	}
	first := list[0].Retry
	for _, n := range list {
		first = min(first, n.Retry)
	}
	first = min(first, s.env.Millis()+parentRetry.Milliseconds()) // what is later has other hints, or the sweep's
	s.wakes.afterWrite(ctx, key, head, &thread.Hint{At: first}, env.PointContinue)
}
