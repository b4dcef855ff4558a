package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Stream submits and shows the run as it happens: inline when the thread is
// free, from its commits when other work comes first or the same submission was
// accepted before. It returns after run_finish, or run_yield when the time is
// over and the run goes on in the queue. A refused submission is an error
// before the first event. That the listener goes away, or ctx is
// cancelled, does not end the run: only a deadline or [ErrStopping] does.
//
// Two contexts are at work. The run's has only what may end it; the follower's is
// the request's own, so that nobody goes on reading for a client that has gone.
func (r *Runtime) Stream(ctx context.Context, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	work, leave := r.metered(work, s.Thread)
	receipt, head, turn, err := r.submitInline(work, s)
	if err != nil {
		leave()
		return receipt, err
	}
	f := follower{Runtime: r, key: s.Thread, run: receipt.RunID, dispatch: receipt.DispatchID, audience: r.newAudience(listener)}
	f.greet(work, core.Identity{Tenant: s.Thread.Tenant, User: s.User}, false)
	if turn != nil {
		f.inline(work, head, turn)
	}
	leave() // who only follows works on no run
	return receipt, f.follow(ctx)
}

// Follow shows a run from its first event and goes on until it is done or
// waits. It also ends, with run_yield, when ctx does or after Config.FollowFor, and
// without a word when nobody listens. An error comes before the first event.
func (r *Runtime) Follow(ctx context.Context, id core.Identity, runID core.ID, listener Listener) error {
	key, dispatch, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	f := follower{Runtime: r, key: key, run: runID, dispatch: dispatch, audience: r.newAudience(listener)}
	f.greet(ctx, id, false)
	return f.follow(ctx)
}

// StreamDecisions takes decisions on calls of one run, in order, and shows what
// comes after them: run_start, the results of the round that were not there
// before, and what follows until the run is done or waits again. When the
// decisions let the run go on, it is stepped inline as [Runtime.Stream] does;
// otherwise, or when somebody else has it, the stream is fed from commits.
//
// Decisions that were all taken before, because a client tries again, show what
// came since the run last waited for them. A decision that is refused is the
// error, before the first event; those before it stand, and are duplicates when
// all are sent again.
func (r *Runtime) StreamDecisions(ctx context.Context, id core.Identity, threadID string, decisions []mailbox.Deciding, listener Listener) ([]mailbox.Decided, error) {
	key := core.ThreadKey{Tenant: id.Tenant, Thread: threadID}
	if err := key.Check(); err != nil {
		return nil, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	a, err := r.decideAll(work, id, key, decisions)
	if err != nil {
		return a.decided, err
	}
	f := follower{Runtime: r, key: key, run: a.run, audience: r.newAudience(listener)}
	// Where the run can go on, its hint is held back for this stream to go on with
	// it. So nothing here may depend on the client then: neither how fast it reads
	// nor whether it is still there. Otherwise all that follows is for the client.
	f.hurry = a.head.Run.ID == a.run && a.head.Ready()
	reading := ctx
	if f.hurry {
		reading = work
	}
	f.greet(reading, id, true)
	if err := f.resume(reading, a); err != nil && !f.audience.over() {
		r.wakeNow(work, key, a.head)
		return a.decided, err
	}
	f.hurry = false
	if head, turn := r.claimInline(work, key, a.head, a.run); turn != nil {
		f.overtaken(work, head)
		f.inline(work, head, turn)
	}
	return a.decided, f.follow(ctx)
}

// StreamAnswered takes decisions, as StreamDecisions does, and then streams what was said
// beside them as [Runtime.Stream] does: the run that the decisions let go on reads their
// results and the input in one step. A submission that is refused leaves the decisions as
// they are.
func (r *Runtime) StreamAnswered(ctx context.Context, id core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	s.Answered = true
	if err := errors.Join(r.known(s), s.Check()); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	a, err := r.decideAll(work, id, s.Thread, all)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.Stream(ctx, s, listener)
	if err != nil {
		r.wakeNow(work, s.Thread, a.head)
	}
	return receipt, err
}

// greet gives the audience the thread's messages for a messages_snapshot, if its listener
// asks for one: those before the run or, where the stream goes on with a run that the
// reader knows, all that are committed. They are the newest, as many as a page has. What
// cannot be read is left out, since the run does not depend on it.
func (f *follower) greet(ctx context.Context, id core.Identity, goesOn bool) {
	if f.audience.started || !f.audience.wants(core.EventMessagesSnapshot) {
		return
	}
	page, err := f.Messages(ctx, id, f.key.Thread, MessageQuery{Newest: true})
	if err != nil {
		f.log.WarnContext(ctx, "messages_snapshot is left out", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		return
	}
	messages := slices.DeleteFunc(page.Messages, func(m core.Message) bool { return m.Pending })
	if own := slices.IndexFunc(messages, func(m core.Message) bool { return m.RunID == f.run }); own >= 0 && !goesOn {
		messages = messages[:own]
	}
	f.audience.earlier = messages
}
