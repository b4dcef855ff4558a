package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// How long an outbox entry that could not be delivered waits for its next try: about as
// long again as it has waited, within these bounds.
const (
	firstRetry     = 500 * time.Millisecond
	parentRetry    = time.Minute // at most
	announceRetry  = time.Hour   // at most
	unheardFor     = 24 * time.Hour
	announceWithin = 15 * time.Second // a publisher has so long
	// hintWithin is how far ahead a hint is worth one: what is later is the sweep's, and no queue
	// keeps it for so long.
	hintWithin = 10 * time.Minute
	// skew is by how many milliseconds a worker's clock may be slow: an early delivery does no
	// harm, and another hint would be sent for nothing.
	skew = 500
)

// Deliver delivers the entries of a thread's outbox: to parents that a child is over, to
// children that their parent is over, to other threads their messages, and to the publisher the
// progress of runs. An entry leaves the head once it is delivered, and is postponed when it could
// not be. An entry that is not due yet stays, except announcements
// of the caller's own writes: those that are newer than the head of its claim. The zero Head:
// it has no claim. If something is left, a hint is sent for the first of it.
//
// Each worker calls it with the newest head that it knows, after its own work; if the process
// dies before, the sweep delivers. So everything is delivered at least once: parents know
// earlier notices, threads know earlier messages, receivers of announcements recognize them by their
// ids. The error is that of a head that could not be written, or that of ctx; the caller wakes a
// worker then.
func (s *Service) Deliver(ctx context.Context, key core.ThreadKey, head, claimed thread.Head) error {
	d := &delivery{s: s, key: key, head: head, claimed: claimed, seen: slices.Clone(head.Outbox)}
	var failed error
	for i := range d.seen {
		if err := d.try(ctx, &d.seen[i]); err != nil {
			failed = errors.Join(failed, err)
		}
		if failed != nil && ctx.Err() != nil {
			return failed
		}
	}
	if failed == nil && d.wrote {
		d.hintForRest(ctx)
	}
	return failed
}

// announcedSince reports whether an announcement came with the write that took a claim, or
// later: that of a run which the claim gave up.
func announcedSince(claimed *thread.Head, e thread.OutboxEntry) bool {
	switch {
	case !claimed.Exists():
		return false
	case e.Kind == thread.OutboxDeadLettered && e.ID == claimed.Run.ID && claimed.Closing == claimed.Version:
		return true
	}
	return !slices.ContainsFunc(claimed.Outbox, func(o thread.OutboxEntry) bool { return o.ID == e.ID && o.Kind == e.Kind })
}

// deliver tries to deliver a notice of a run, and returns what becomes of it: the transition that
// clears it, since it was delivered or is pointless, or that puts it off. If a parent's call
// does not wait yet, or the process has no publisher, the attempt has not failed; both are
// repeated without a line in the log. A panic of a publisher is a failed attempt.
func (s *Service) deliver(ctx context.Context, key core.ThreadKey, head thread.Head, e thread.OutboxEntry) thread.Delivered {
	done := thread.Delivered{ID: e.ID, Kind: e.Kind}
	var about matter
	err := env.Protect(func() (err error) {
		switch {
		case e.Kind == thread.OutboxWaiting && !waitStands(head, e):
			return errNoNews
		case e.Kind == thread.OutboxCancel:
			about.at = createdAt(e.ID)
			return cancelChildren(ctx, s, key, e.ID)
		}
		if about, err = s.reads.matter(ctx, key, head, e); err != nil {
			return err
		}
		if e.Announces() {
			return s.announce(ctx, key, head, e, about)
		}
		return tellParent(ctx, s, key.Tenant, about)
	})
	switch {
	case err == nil:
		done.Missed = head.SaysMissed(e)
		return done
	case errors.Is(err, errNoNews):
		return done
	}
	age := time.Duration(s.env.Millis()-about.at) * time.Millisecond
	if about.at == 0 { // it cannot be read: the tries tell about how long it was owed
		age = firstRetry << min(e.Tries, 18) // a day and a half
	}
	which := []any{"tenant", key.Tenant, "thread", key.Thread, "run", about.run.ID, "what", e.Kind.String()}
	if errors.Is(err, errUnheard) && age > unheardFor {
		s.log.WarnContext(ctx, "notification dropped, no publisher configured", which...)
		return done
	}
	most := parentRetry
	if e.Announces() {
		most = announceRetry
	}
	again := min(max(age, firstRetry), most)
	again = again/2 + s.env.Jitter(again/2) + time.Millisecond
	done.Next, done.Was = s.env.Millis()+again.Milliseconds(), e.Next
	failed := !errors.Is(err, errNotYet) && !errors.Is(err, errUnheard)
	done.Failed = failed || about.at == 0
	if failed {
		s.log.WarnContext(ctx, "notification failed, will be retried", append(which, "in", again.Round(time.Millisecond).String(), "error", err)...)
	}
	return done
}

// WakeToDeliver wakes a worker for what a thread's outbox holds, if there is something, for
// a caller that has written the head and delivers nothing itself, or could not.
func (s *Service) WakeToDeliver(ctx context.Context, key core.ThreadKey, head thread.Head) {
	first := s.env.Millis() + parentRetry.Milliseconds() // what is later has other hints, or the sweep's
	owes := false
	for _, e := range head.Outbox {
		if e.Delivers() {
			first, owes = min(first, e.Next), true
		}
	}
	if owes {
		s.wakes.afterWrite(ctx, key, head, &thread.Hint{At: first}, 0, point.Continue)
	}
}

// matter is the subject of an outbox entry, from the thread's records. It is read for each
// attempt, since the entry itself has room only for an id and a time.
type matter struct {
	run    core.Run
	parent *thread.Parent // the receiver of the run's end; nil: no receiver
	at     int64          // since when it is owed, unix milliseconds; 0: not known
}

// codeDeleted is the code of a run that ended with its thread.
const codeDeleted = "deleted"

// matter reads the subject of an entry. For a deleted thread it knows only that its runs have
// ended, and whose children they were. A record that is damaged or missing is not an error: no
// later attempt can read it, and a parent waits for the end of its run. Errors are those of the
// store, and core.CodeSchema of a record that a newer program is to deliver.
func (r reader) matter(ctx context.Context, key core.ThreadKey, head thread.Head, e thread.OutboxEntry) (m matter, err error) {
	id := e.ID
	if e.Kind == thread.OutboxWaiting {
		id = head.Run.ID
	}
	m.run = core.Run{ID: id, ThreadID: key.Thread, Termination: &core.Termination{Type: core.TerminationCancelled, Code: codeDeleted}}
	if head.Deleted && e.Announces() {
		m.at = head.ClosingAt
		return m, nil
	}
	_, dispatch, _, err := r.locate(ctx, key.Tenant, id)
	if err != nil {
		return m, err
	}
	record, at, ok, err := r.find(ctx, key, head, id, dispatch)
	if core.CodeOf(err) == core.CodeCorrupt { // no later try can read it
		ok, err = false, nil
	}
	if err != nil {
		return m, err
	}
	switch {
	case head.Deleted:
		at = head.ClosingAt
	case !ok:
		m.run.Termination = &core.Termination{Type: core.TerminationError, Code: string(core.CodeCorrupt)}
	default:
		m.run = record.Run
	}
	switch {
	case e.Kind == thread.OutboxWaiting:
		at = createdAt(e.ID)
	case head.Run.ID == id: // it is given up, and closing
		at = head.ClosingAt
	}
	m.at, m.parent = at, record.Parent
	if e.Kind == thread.OutboxChildEnded && m.parent == nil {
		m.parent, err = r.parentByInput(ctx, key, id, dispatch)
	}
	return m, err
}

// parentByInput is whose child a run is by the input that it was to begin with: where no
// step has opened it, or its record is lost.
func (r reader) parentByInput(ctx context.Context, key core.ThreadKey, run, dispatch core.ID) (*thread.Parent, error) {
	in, err := r.queuedInput(ctx, key, dispatch, 0)
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return nil, fmt.Errorf("read the parent of child run %s: %w", run, err)
	}
	return in.Parent, nil
}

// waitStands reports whether the run still waits as an announcement says: by the write that
// has left it. No holder has written since.
func waitStands(head thread.Head, e thread.OutboxEntry) bool {
	return head.Run.Status == thread.Waiting && head.HolderCommitID == e.ID
}
