package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// follower feeds a stream from its source: from commits, and from the stored pieces of the turn
// that comes next (unsaid.go). Its output is a function of the head and of records that the
// head vouches for, and does not depend on the process: two followers of a run in two
// processes show the same events, but for how a model's words are divided into pieces.
//
// It has no lock, as it serves one stream and follows only after inline steps.
type follower struct {
	env     *env.Env
	log     *slog.Logger
	streams *streams // makes the followers of child runs
	key     core.ThreadKey
	stream  *stream
	source  source
	unsaid  unsaid
	watches *watches
	limits  followLimits
	played  bool                 // for a call that returns an outcome: it waits for timers, too
	over    bool                 // nothing follows after seen
	quiet   bool                 // for a call without a listener: what child runs do is not shown
	below   *descendants         // the child runs; nil: none were seen
	asked   map[core.ID][]string // the calls of child runs that the stream's request has decided

	seen   thread.Head // the last head that was shown
	record core.Run    // of the run, as seen has it; without an id before the first show
}

// followLimits bound how long a follower follows.
type followLimits struct {
	reserve  time.Duration // Options.Reserve, left of the context's time for the last event
	patience time.Duration // Options.FollowFor; 0: unbounded
}

// nextHead returns a thread's head as soon as it differs from seen. watch is the thread's.
// If the follower's run has child runs, it also returns the same head, when a look at them is due.
// The error is the cause of ctx's end, or why the head cannot be read.
type nextHead func(ctx context.Context, watch *watch, seen thread.Head) (thread.Head, error)

// follow shows committed events until the run is done or waits for a person, or the time is
// over. It continues through a wait for child runs alone, until all of these wait themselves:
// then nothing changes without a person. Its error precedes the first event: once an event was
// shown, the error ends the stream instead. next waits for the next head; nil: the watch does,
// and unsaid shows the model's words until then.
//
// follow reads nothing by itself: it shows each head that the thread's watch learns of,
// and what is new in the head decides what is read. It joins the watch before it reads the
// head, so that no write is missed in between.
//
// Every stream ends here that its inline steps have not ended: with the run, or with its
// wait for a person (run_finish); with the time, the host, a thread that was deleted or
// a store that cannot be read (run_yield: the client reconnects, and is then told why it
// cannot continue); or silently, because the listener is gone.
func (f *follower) follow(ctx context.Context, next nextHead) error {
	if f.stream.audience.over() {
		return nil
	}
	// within is the time for following. The first look is shown under showing, even if no time
	// remains to wait for more.
	within, cancel := f.beforeReserve(ctx)
	defer cancel()
	joined := f.watches.join(f.key)
	defer joined.quit() // after the last event: the last follower waits there for a read under way
	defer f.quitChildren()
	if next == nil {
		next = f.after
	}
	showing := within
	if within.Err() != nil { // there was no time for even one look: what is there is shown anyway
		showing = ctx
	}
	first := true
	var record core.Run
	head, err := joined.newest(showing)
	for over := false; err == nil; head, err = next(within, joined, head) {
		if record, over, err = f.showAll(showing, joined, head); err != nil {
			break // over means nothing then
		}
		if over {
			_ = f.stream.replayer.Finish(record) // the audience keeps the error
			return nil
		}
		if first { // a replay may take long, and its reader is there
			first = false
			patient, done := f.patient(within)
			defer done()
			within = patient
		}
		showing = within
	}
	// The loop has ended with an error: of a read, of the time, or of the audience.
	switch {
	case f.stream.audience.over():
		return nil
	case !f.stream.audience.started: // it can still be refused as a whole
		return err
	case within.Err() == nil && core.CodeOf(err) != core.CodeDeleted:
		f.log.WarnContext(ctx, "stream aborted", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.stream.run, "error", err)
	}
	f.stream.audience.yield(f.stream.run)
	return nil
}

// after is a nextHead that leaves the steps to others.
func (f *follower) after(ctx context.Context, on *watch, seen thread.Head) (thread.Head, error) {
	for {
		head, err := f.wait(ctx, ctx, on, seen)
		if err != nil || f.below != nil || differs(head, seen) {
			return head, err
		}
	}
}

// wait is unsaid.once that also ends with news of the child runs, or when they are due.
func (f *follower) wait(ctx, until context.Context, on *watch, seen thread.Head) (thread.Head, error) {
	if f.below != nil && !f.below.shared.next.IsZero() {
		due, cancel := f.env.WithDeadline(until, f.below.shared.next)
		defer cancel()
		until = due
	}
	return f.unsaid.once(ctx, until, on, seen, f.record.AgentID)
}

// beforeReserve ends when the reserve of ctx's time begins, which the last event needs.
func (f *follower) beforeReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return f.env.WithDeadline(ctx, deadline.Add(-f.limits.reserve))
}

// patient ends after the patience, which starts when the stream has shown what was there.
// The time of inline steps does not count: the host used it for the run.
func (f *follower) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.limits.patience == 0 {
		return ctx, func() {}
	}
	return f.env.WithDeadline(ctx, f.env.Now().Add(f.limits.patience))
}

// showAll shows a head, and what is new of the child runs. It is over too when all of these
// wait, and the run for them.
//
// The end of a child run comes before what its parent does with it: the call's result, or the
// parent's own end. What a head starts comes after the head.
func (f *follower) showAll(ctx context.Context, on *watch, head thread.Head) (record core.Run, over bool, err error) {
	if f.below == nil {
		if len(f.asked) == 0 && (head.Run.ID != f.stream.run || !hasChildren(head)) {
			return f.show(ctx, head)
		}
		f.below = f.streams.descend(f, on, head.Owner)
		f.unsaid.others = true
		if err := f.below.recall(ctx); err != nil {
			return record, false, err
		}
	}
	// What comes from here on is news for the next wait.
	f.unsaid.since, f.below.shared.next = on.spoken(), time.Time{}
	if err := f.below.showGone(ctx, head); err != nil {
		return record, false, err
	}
	if record, over, err = f.show(ctx, head); err != nil {
		return record, false, err
	}
	if over { // with the run, or with its wait for anything else
		return record, true, f.below.end(ctx)
	}
	if err := f.below.look(ctx, head); err != nil {
		return record, false, err
	}
	waits := head.Run.ID == f.stream.run && head.Run.Status == thread.Waiting && head.Tickets.AwaitChildren()
	return record, waits && f.below.rest(head), nil
}

// showUntil shows what comes until its second context ends, or the stream does. It returns the
// last head that it has shown.
func (f *follower) showUntil(ctx, until context.Context, on *watch, seen thread.Head) (thread.Head, error) {
	for until.Err() == nil {
		record, over, err := f.showAll(ctx, on, seen)
		if err != nil {
			return seen, err
		}
		if over {
			_ = f.stream.replayer.Finish(record) // the audience keeps the error
			break
		}
		if seen, err = f.wait(ctx, until, on, seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// quitChildren ends the following of the child runs.
func (f *follower) quitChildren() {
	if f.below != nil {
		f.below.quit()
	}
}

// show emits what a head has that the last shown one had not. over reports that nothing
// will follow: the run is done, with its closing records, or waits for a person or a client.
//
// The order is the stream's: run_start, the log up to the head's sequence, and then what
// the head alone has of the open round. The log will repeat that, and the audience drops
// the repetition.
func (f *follower) show(ctx context.Context, head thread.Head) (record core.Run, over bool, err error) {
	if f.unchanged(head) {
		return f.record, f.over, nil
	}
	if head.Deleted { // what is left of the run has no end
		return record, false, core.Errorf(core.CodeDeleted, "thread %s was deleted", f.key.Thread)
	}
	record, ok, err := f.source.Run(ctx, head)
	if err != nil {
		return record, false, err
	}
	if !ok {
		return record, false, core.Errorf(core.CodeNotFound, "run %s not found", f.stream.run)
	}
	// Kept before anything is shown: a failure below ends the stream, so that no head is
	// shown twice.
	f.seen, f.record = head, record
	f.stream.begin(record) // also for a queued run: run_start announces that it is accepted, and its id
	if err := f.replay(ctx, head); err != nil {
		return record, false, err
	}
	if err := f.showOpen(ctx, head); err != nil {
		return record, false, err
	}
	f.over = f.ends(record, head)
	return record, f.over, nil
}

// ends reports whether a run's stream ends under a head. A closing run is done for its
// readers, but still the open one: it owes its last records. A run that waits for child runs
// alone continues by itself. So does one that waits for timers, which may be for days.
func ends(record core.Run, head thread.Head) bool {
	if head.Run.ID != record.ID {
		return record.Status == core.RunDone || record.Status == core.RunWaiting
	}
	return record.Status == core.RunWaiting && !head.Tickets.AwaitChildren()
}

// ends reports whether the follower is done with a run under a head.
func (f *follower) ends(record core.Run, head thread.Head) bool {
	return ends(record, head) && !(f.played && head.Run.ID == record.ID && head.Tickets.AwaitNobody())
}

// unchanged reports whether a head shows what the last one did. A run that is still
// queued has not changed, even if other things happen on the thread: a stream that waits for a
// long run before it costs no read for each of that run's commits. Renewed leases change
// the version too, and are read: the log has nothing new then.
func (f *follower) unchanged(head thread.Head) bool {
	if f.record.ID.IsZero() || head.Incarnation != f.seen.Incarnation {
		return false
	}
	status, _ := head.RunStatus(f.stream.run)
	return head.Version == f.seen.Version || status == core.RunCreated && f.record.Status == core.RunCreated
}

// replay emits the run's records that a head covers, one read at a time. place.next
// counts them, also when replay is interrupted: no record is shown twice. The state is
// shown where the reader has caught up, not for each step that the reader missed.
func (f *follower) replay(ctx context.Context, head thread.Head) error {
	s := f.stream
	if err := f.passTurn(ctx); err != nil {
		return err
	}
	if s.place.next == 0 {
		return nil
	}
	if s.place.next > head.Seq {
		if !s.state.owed || s.place.first == 0 || s.place.next == s.place.first { // the state comes with the first record
			return nil
		}
		return f.showState(ctx, head)
	}
	// found: the state was looked for at a record of the run; once is enough until the
	// reader has caught up.
	found := false
	for entry, err := range f.source.Entries(ctx, s.place.next, head.Seq) {
		if err != nil {
			return err
		}
		if entry.Run != s.run {
			break // the next run has started: this run's last record was shown
		}
		if err := s.ready(ctx); err != nil {
			return err
		}
		// A run that supersedes the log's tail starts with the state before that tail.
		if s.state.owed && !found && entry.Superseded == nil {
			found = true
			if err := f.showState(ctx, head); err != nil {
				return err
			}
		}
		if err := s.showRecord(entry); err != nil {
			return err
		}
	}
	if err := f.showState(ctx, head); err != nil {
		return err
	}
	return s.replayer.Flush()
}

// passTurn reads the turn whose results come next, if the stream was moved past it. Only
// a follower that continues after it pays for the read: most inline streams end before.
func (f *follower) passTurn(ctx context.Context) error {
	if !f.stream.place.inside {
		return nil
	}
	turn, err := entryAt(ctx, f.source, f.stream.place.next-1)
	if err != nil {
		return err
	}
	f.stream.passTurn(turn)
	return nil
}

// showState shows the state before the next record if the stream needs it. It reads the
// state once; from then on the stream folds it. A state that cannot be read, or not within
// a reasonable number of reads, stays unknown: the stream then has patches alone, as it has
// for a run that ended long ago.
func (f *follower) showState(ctx context.Context, head thread.Head) error {
	if !f.stream.needsState() {
		return nil
	}
	if !f.stream.knowsState() {
		f.stream.state.fold = nil
		now, of, ok, err := f.source.State(ctx, head, f.stream.place.next-1)
		if err != nil {
			f.log.WarnContext(ctx, "state of a stream cannot be read",
				"tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.stream.run, "error", err)
		}
		if err == nil && ok {
			f.stream.setState(now, of)
		}
	}
	return f.stream.showState()
}

// showOpen emits what the head has of its open round: the results of calls that are
// done, and the tickets without a decision.
func (f *follower) showOpen(ctx context.Context, head thread.Head) error {
	unseen, ok := f.stream.unseen(head)
	if !ok {
		return nil
	}
	for i, err := range f.source.Open(ctx, unseen) {
		if err != nil {
			return err
		}
		if i.ticket == nil {
			if err := f.stream.ready(ctx); err != nil {
				return err
			}
		}
		if err := f.stream.showOpen(unseen, i); err != nil {
			return err
		}
	}
	f.stream.shownOpen(unseen)
	return nil
}

// overtaken shows what other workers have made visible of the run between the head that
// the stream has shown and the head that was claimed for it: records, and results of an open
// round. The claim's step emits only what comes after these, so that the reader must have
// them first. The run does not wait for the reader, who reconnects if they cannot be read.
func (f *follower) overtaken(ctx context.Context, head thread.Head) {
	if f.stream.audience.over() || head.Version == f.seen.Version+1 { // only the claim came in between
		return
	}
	f.stream.hurry = true
	defer func() { f.stream.hurry = false }()
	if _, _, err := f.show(ctx, head); err != nil && !f.stream.audience.over() {
		f.stream.audience.yield(f.stream.run)
	}
}
