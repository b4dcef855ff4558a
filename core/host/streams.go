package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Stream submits and shows the run as it happens: inline when the thread is
// free, from its commits when other work comes first or the same submission was
// accepted before. It returns after run_finish, or after run_yield when the time is
// over and the run continues in the queue. A refused submission is an error
// before the first event. A listener that leaves, or a ctx that is cancelled, does
// not end the run: only a deadline or [ErrStopping] does.
//
// Two contexts are used. The run's ends only for what may end the run; the follower's is
// the request's own, so that nothing is read for a client that has gone.
func (r *Host) Stream(ctx context.Context, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	if err := r.submits.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := detach(ctx, r.env)
	defer cancel()
	work, stop := r.worker.meter.start(work, s.Thread)
	receipt, head, permit, err := r.worker.submitInline(work, s)
	if err != nil {
		stop()
		return receipt, err
	}
	shows := newStream(r.env, receipt.RunID, listener)
	r.streams.greet(work, s.Thread, shows, core.Identity{Tenant: s.Thread.Tenant, User: s.User}, false)
	if permit != nil {
		r.worker.runInline(work, s.Thread, shows, head, permit)
	}
	stop() // the follower's time is not the run's
	if shows.audience.over() {
		return receipt, nil
	}
	return receipt, r.streams.follow(ctx, r.streams.follower(s.Thread, receipt.DispatchID, shows))
}

// Follow shows a run from its first event and continues until it is done or
// waits. It also ends, with run_yield, when ctx does or after Options.FollowFor, and
// silently when the listener leaves. An error comes before the first event.
func (r *Host) Follow(ctx context.Context, id core.Identity, runID core.ID, listener Listener) error {
	key, dispatch, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	f := r.streams.follower(key, dispatch, newStream(r.env, runID, listener))
	r.streams.greet(ctx, key, f.stream, id, false)
	return r.streams.follow(ctx, f)
}

// StreamDecisions takes decisions on calls of one run, and of runs that it has started, in
// order, and shows what comes after them: run_start, the results of the round that were not there
// before, and what follows until the run is done or waits again. When the
// decisions let the run go on, it is stepped inline as [Host.Stream] does;
// otherwise, or when another worker has it, the stream is fed from commits.
//
// If all decisions were taken before, because a client retries, the stream shows what
// has come since the run last waited for them. The first decision that is refused is the
// error, before the first event. Those before it are taken, and are duplicates if the
// client sends all of them again.
func (r *Host) StreamDecisions(ctx context.Context, id core.Identity, threadID string, decisions []mailbox.Deciding, listener Listener) ([]mailbox.Decided, error) {
	key := core.ThreadKey{Tenant: id.Tenant, Thread: threadID}
	if err := key.Check(); err != nil {
		return nil, err
	}
	work, cancel := detach(ctx, r.env)
	defer cancel()
	d, err := r.worker.decideAll(work, id, key, decisions)
	if err != nil {
		return d.decided, err
	}
	f := r.streams.follower(key, core.ID{}, newStream(r.env, d.run, listener))
	f.asked = d.asked
	// If the run can continue, this stream continues it: no hint was sent. Then nothing here may depend on the client: neither on its speed nor on its presence.
	// Otherwise all that follows is for the client.
	f.stream.hurry = d.head.Run.ID == d.run && d.head.Ready()
	reading := ctx
	if f.stream.hurry {
		reading = work
	}
	r.streams.greet(reading, key, f.stream, id, true)
	if err := r.streams.resume(reading, f, d); err != nil && !f.stream.audience.over() {
		r.worker.wakeNow(work, key, d.head)
		return d.decided, err
	}
	f.stream.hurry = false
	if head, permit := r.worker.claimInline(work, key, d.head, d.run); permit != nil {
		f.overtaken(work, head)
		r.worker.runInline(work, key, f.stream, head, permit)
	}
	return d.decided, r.streams.follow(ctx, f)
}

// StreamAnswered takes decisions, as StreamDecisions does, and then streams the run of the
// accompanying input as [Host.Stream] does: the run that the decisions resume reads their
// results and the input in one step. A submission that is refused leaves the decisions as they
// are.
func (r *Host) StreamAnswered(ctx context.Context, id core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	s.Answered = true
	if err := errors.Join(r.submits.known(s), s.Check()); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := detach(ctx, r.env)
	defer cancel()
	d, err := r.worker.decideAll(work, id, s.Thread, all)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.Stream(ctx, s, listener)
	if err != nil {
		r.worker.wakeNow(work, s.Thread, d.head)
	}
	return receipt, err
}

// streams makes the followers of a process and lets them follow.
type streams struct {
	env     *env.Env
	log     *slog.Logger
	reads   *reader
	mailbox *mailbox.Service
	// stepper is where followers hear the steps of this process, and read states that it
	// has in memory.
	stepper *run.Stepper
	// agents tell whether a mark changes which events of a run are stored, see demand.matters.
	agents  *registry.Registry
	watches *watches
	// queue and worker are used in a process whose queue is its own, where a follower takes
	// the steps while it waits. queue is nil if the hints go elsewhere.
	queue  *Queue
	worker *worker
	limits followLimits
	// chunkEvery is how often a follower lists what a model says in another process.
	chunkEvery time.Duration
	process    string // Options.Worker: claims under this name are of this process
}

// follower returns a follower that continues a stream. dispatch finds a run that has no
// record yet; zero: the run has one.
func (s *streams) follower(key core.ThreadKey, dispatch core.ID, shows *stream) *follower {
	runID := shows.run
	f := &follower{
		env: s.env, log: s.log, streams: s, key: key, watches: s.watches, limits: s.limits, stream: shows,
		source: &storedRun{reads: s.reads, mailbox: s.mailbox, states: s.stepper.Reader(), key: key, run: runID, dispatch: dispatch},
	}
	f.unsaid = unsaid{
		env: s.env, log: s.log, key: key, run: runID, stream: shows, source: f.source,
		demand:  demand{env: s.env, store: s.reads.store, records: s.reads.records, mailbox: s.mailbox, agents: s.agents, key: key, run: runID},
		records: s.reads.records, worker: s.process, every: s.chunkEvery, listen: s.stepper.Hear,
	}
	return f
}

// greet gives the stream the thread's messages for a messages_snapshot, if its listener
// wants one: those before the run or, if the stream continues a run that the reader knows,
// all that are committed. They are the newest, as many as a page has. If they cannot be
// read they are omitted, since the run does not depend on them.
func (s *streams) greet(ctx context.Context, key core.ThreadKey, shows *stream, id core.Identity, continues bool) {
	audience := &shows.audience
	if !audience.wants(core.EventMessagesSnapshot) {
		return
	}
	page, err := s.reads.messages(ctx, id, key.Thread, MessageQuery{Newest: true})
	if err != nil {
		s.log.WarnContext(ctx, "messages_snapshot omitted", "tenant", key.Tenant, "thread", key.Thread, "run", shows.run, "error", err)
		return
	}
	messages := slices.DeleteFunc(page.Messages, func(m core.Message) bool { return m.Pending })
	if own := slices.IndexFunc(messages, func(m core.Message) bool { return m.RunID == shows.run }); own >= 0 && !continues {
		messages = messages[:own]
	}
	audience.earlier = messages
}

// follow lets a follower show its run to the end. In a process whose queue is its own it
// takes the steps itself while it waits for the next head, but for a stream while workers are
// there: a stream ends with its client.
func (s *streams) follow(ctx context.Context, f *follower) error {
	if s.queue == nil || !f.played && s.queue.worked() {
		return f.follow(ctx, nil)
	}
	own := stepping{worker: s.worker, queue: s.queue, waiter: s.queue.join(f.key), follower: f, alone: s.reads.local}
	defer own.waiter.quit()
	return f.follow(ctx, own.after)
}
