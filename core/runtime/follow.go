package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// follower feeds a stream from commits, and from what is stored of the turn that comes
// next (unsaid.go). Whatever runs, and wherever, what it shows is a function of the head
// and of records that the head vouches for: two followers of a run, in two processes,
// show the same events, but for how a model's words are cut.
//
// It is one stream's alone and has no lock. An inline step emits to its audience
// before it follows, never beside it.
type follower struct {
	*Runtime
	key           core.ThreadKey
	run, dispatch core.ID
	audience      audience
	first         uint64 // sequence of the run's first record; 0: not known, or it has none
	next          uint64 // sequence of the next record to show; 0: the run's first
	inside        bool   // the record before next is a turn that the reader has, whose results come next
	replayer      *run.Replayer
	unsaid        unsaid   // of the open turn, before it is committed
	early         progress // of the open round, before the log comes to it
	shown         shownState
	hurry         bool // a run waits until the follower has come this far: it does not wait for its reader

	seen   thread.Head // of the last show
	record core.Run    // as seen has it; no ID before the first show
}

// progress is what of an open round was shown.
type progress struct {
	base    uint64          // of its results
	results int             // how many calls were done
	tickets map[uint64]bool // by key
}

// follow shows what is committed until the run is done or waits, or the time is
// over. Once something was shown, it ends the stream rather than fail.
//
// It reads nothing of its own accord: each head that the thread's watch comes to
// know is shown, and the reads that this takes follow from what is new in it. The
// watch is joined before the head is read, so that no write falls in between.
//
// This is where every stream ends that its inline steps have not ended: with the
// run, or with its wait for a person (run_finish); with the time, the host, a thread
// that was deleted or a store that cannot be read (run_yield: the client comes back,
// and is told why it cannot go on); or because nobody
// listens any more, of which nobody is told.
func (f *follower) follow(ctx context.Context) error {
	if f.audience.over() {
		return nil
	}
	within, cancel := f.beforeReserve(ctx)
	defer cancel()
	watch := f.watches.join(f.key)
	defer watch.leave() // after the last event: the last follower waits there for a read under way
	if f.solo != nil {
		f.solo.join(f.key)
		defer f.solo.leave(f.key)
	}
	showing := within
	if within.Err() != nil { // not even a look was in it: what is there is shown all the same
		showing = ctx
	}
	first := true
	var record core.Run
	head, err := watch.newest(showing)
	for over := false; err == nil; head, err = f.after(within, watch, head) {
		if record, over, err = f.show(showing, head); err != nil {
			break // over says nothing then
		}
		if over {
			_ = f.replayer.Finish(record) // the audience knows who is gone
			return nil
		}
		if first { // a replay may take long, and who reads it is there
			first = false
			patient, done := f.patient(within)
			defer done()
			within = patient
		}
		showing = within
	}
	switch {
	case f.audience.over():
		return nil
	case !f.audience.started: // it can still be refused as a whole
		return err
	case within.Err() == nil && core.CodeOf(err) != core.CodeDeleted:
		f.log.WarnContext(ctx, "stream broken off", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
	}
	f.audience.yield(f.run)
	return nil
}

// after returns the thread's head as soon as it is another than seen: in a runtime
// of [New] by working for it.
func (f *follower) after(ctx context.Context, watch *watch, seen thread.Head) (thread.Head, error) {
	if f.solo != nil {
		return f.workFor(ctx, seen)
	}
	return f.afterUnsaid(ctx, watch, seen)
}

// beforeReserve ends with so much of ctx's time left as the last event needs to
// go out.
func (f *follower) beforeReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return f.env.WithDeadline(ctx, deadline.Add(-f.reserve))
}

// patient ends with FollowFor, which begins when what was there has been shown.
// Time that the run was stepped inline does not count either: its host saw then
// that it is of use.
func (f *follower) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.patience == 0 {
		return ctx, func() {}
	}
	return f.env.WithDeadline(ctx, f.env.Now().Add(f.patience))
}

// begin emits run_start, unless the audience has had it.
func (f *follower) begin(record core.Run) {
	f.first = record.FirstSeq
	if f.replayer == nil {
		f.shown.owed = !f.audience.started || f.shown.again
		f.replayer = run.NewReplayer(record, f.emit)
	}
}

// show emits what a head has that the last one shown had not. over says that
// nothing will follow: the run is done, with its closing records, or waits.
//
// The order is that of the stream: run_start, the log up to the head's sequence,
// and then what the head alone knows of the round that is open, which the log will
// repeat and the audience drops.
func (f *follower) show(ctx context.Context, head thread.Head) (record core.Run, over bool, err error) {
	if f.unchanged(head) {
		return f.record, false, nil // or the stream had ended
	}
	if head.Deleted { // what is left of the run tells of no end
		return record, false, core.Errorf(core.CodeDeleted, "thread %s was deleted", f.key.Thread)
	}
	record, ok, err := f.mailbox.Run(ctx, f.key, head, f.run, f.dispatch)
	if err != nil {
		return record, false, err
	}
	if !ok {
		return record, false, core.Errorf(core.CodeNotFound, "run %s not found", f.run)
	}
	// Kept before anything is shown: a failure below ends the stream, so that no head
	// is tried twice.
	f.seen, f.record = head, record
	f.begin(record) // also while it is queued: run_start says that it is accepted, and which run it is
	if f.next == 0 {
		f.next = record.FirstSeq // 0 until the first step has committed
	}
	if err := f.replay(ctx, head); err != nil {
		return record, false, err
	}
	if err := f.showEarly(ctx, head); err != nil {
		return record, false, err
	}
	// A run that closes is done for whoever asks, and still owes its last records.
	closing := head.Open() && head.Run.ID == f.run && head.Run.Status == thread.Closing
	return record, record.Status == core.RunWaiting || record.Status == core.RunDone && !closing, nil
}

// unchanged reports whether a head shows what the last one did. A run that is
// queued still is as it was, whatever else the thread does meanwhile: a stream that
// waits behind a long run costs no read for each of that one's commits. Renewed
// leases change the version as well, and are looked at; the log has nothing new then.
func (f *follower) unchanged(head thread.Head) bool {
	if f.record.ID.IsZero() || head.Incarnation != f.seen.Incarnation {
		return false
	}
	status, known := head.RunStatus(f.run)
	return head.Version == f.seen.Version || known && status == core.RunCreated && f.record.Status == core.RunCreated
}

// replay emits the run's records that a head covers, one read at a time. next says how
// far it has come, also when it is interrupted: no record is shown twice. The state
// comes where the reader has caught up, and not with each step that it was not there
// for.
func (f *follower) replay(ctx context.Context, head thread.Head) error {
	if err := f.pass(ctx); err != nil {
		return err
	}
	if f.next == 0 {
		return nil
	}
	if f.next > head.Seq {
		if !f.shown.owed || f.first == 0 || f.next == f.first { // it comes with the first record
			return nil
		}
		return f.showState(ctx, head)
	}
	found := false
	for entry, err := range store.Entries(ctx, f.store, f.records, f.key, f.next, head.Seq) {
		if err != nil {
			return err
		}
		if entry.Run != f.run {
			break // the next run has begun: this one has written its last record, which was shown
		}
		if err := f.ready(ctx); err != nil {
			return err
		}
		// A run that takes the log's tail back begins on the state before that.
		if f.shown.owed && !found && entry.Superseded == nil {
			found = true
			if err := f.showState(ctx, head); err != nil {
				return err
			}
		}
		if err := f.showRecord(entry); err != nil {
			return err
		}
	}
	if err := f.showState(ctx, head); err != nil {
		return err
	}
	return f.replayer.Settle()
}

// showRecord emits the next record.
func (f *follower) showRecord(entry store.LogEntry) error {
	if err := f.shown.pass(entry); err != nil {
		return err
	}
	if err := f.replayer.Add(entry.Entry); err != nil {
		return err
	}
	f.next++
	return nil
}

// ready waits until the reader has taken what it was shown: Emit never waits, so a
// long run would stand in memory for a slow reader. Not while a run waits for this
// follower, though: no run waits for a reader.
func (f *follower) ready(ctx context.Context) error {
	if f.hurry {
		return nil
	}
	return f.audience.ready(ctx)
}

// goOn makes the follower begin behind what a head covers, which the reader was
// shown by whoever committed it. Behind an open turn the results come next, and they
// take their positions from the turn, which the replayer does not know then.
func (f *follower) goOn(head thread.Head) {
	f.next, f.inside = head.Seq+1, head.Open() && head.Run.ID == f.run && head.Run.Cursor == thread.CursorTools
}

// pass tells the replayer of the turn whose results come next. Only a follower that really
// goes on behind it pays for the read: most inline streams end before.
func (f *follower) pass(ctx context.Context) error {
	if !f.inside {
		return nil
	}
	entries, err := store.ReadLog(ctx, f.store, f.records, f.key, f.next-1, f.next-1)
	if err != nil {
		return err
	}
	f.replayer.Pass(entries[0])
	f.inside = false
	return nil
}

// showEarly emits what the head has of the open round: the results of calls that
// are done, and the tickets that nobody has decided. It is the follower's business
// only when the log was shown up to the round, and never past it.
func (f *follower) showEarly(ctx context.Context, head thread.Head) error {
	if !head.Open() || head.Run.ID != f.run || head.Run.Cursor != thread.CursorTools || f.next != head.Run.Base {
		return nil
	}
	if f.early.base != f.next {
		f.early = progress{base: f.next, tickets: map[uint64]bool{}}
	}
	if err := f.earlyResults(ctx, head); err != nil {
		return err
	}
	return f.openTickets(ctx, head)
}

// earlyResults emits the results that count already. When another call is done, all
// of them are read and emitted anew, and the audience drops what it has had: which
// were shown before depends on who showed them, an inline step or a head.
func (f *follower) earlyResults(ctx context.Context, head thread.Head) error {
	done := 0
	for _, status := range head.Run.Calls {
		if status == thread.CallDone { // for good, within a round
			done++
		}
	}
	if done == f.early.results {
		return nil
	}
	next, behind := 0, false
	for result, err := range f.openResults(ctx, f.key, head) {
		if err != nil {
			return err
		}
		behind = behind || result.call != next
		next = result.call + 1
		if err := f.ready(ctx); err != nil {
			return err
		}
		if err := f.replayer.Early(result.call, result.entry, behind); err != nil {
			return err
		}
	}
	f.early.results = done
	return nil
}

// openTickets emits the tickets that came since the last look. A ticket that was
// decided meanwhile is left out: a decision on it could only be refused.
func (f *follower) openTickets(ctx context.Context, head thread.Head) error {
	held := head.Tickets
	head.Tickets = nil
	for _, t := range held {
		if t.Decision == 0 && !f.early.tickets[t.ID] {
			head.Tickets = append(head.Tickets, t)
		}
	}
	tickets, err := f.mailbox.Tickets(ctx, f.key, head)
	if err != nil {
		return err
	}
	for _, t := range tickets {
		if err := f.replayer.Suspended(t); err != nil {
			return err
		}
	}
	for _, t := range head.Tickets {
		f.early.tickets[t.ID] = true
	}
	return nil
}
