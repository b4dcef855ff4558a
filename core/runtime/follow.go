package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// follower feeds a stream from commits.
type follower struct {
	*Runtime
	key           core.ThreadKey
	run, dispatch core.ID
	audience      audience
	next          uint64 // sequence of the next record to show; 0: the run's first
	inside        bool   // the record before next is a turn that the reader has, whose results come next
	replayer      *run.Replayer
	early         progress // of the open round, before the log comes to it
	hurry         bool     // a run waits until the follower has come this far: it does not wait for its reader

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
// know is shown, and the reads that this takes follow from what is new in it.
func (f *follower) follow(ctx context.Context) error {
	if f.audience.over() {
		return nil
	}
	within, cancel := f.followTime(ctx)
	defer cancel()
	watch := f.watches.join(f.key)
	defer watch.leave()
	showing := within
	if within.Err() != nil { // not even a look was in it: what is there is shown all the same
		showing = ctx
	}
	var record core.Run
	head, err := watch.newest(showing)
	for over := false; err == nil; head, err = watch.after(within, head) {
		if record, over, err = f.show(showing, head); err != nil {
			break
		}
		if over {
			f.begin(record)
			_ = f.replayer.Finish(record) // the audience knows who is gone
			return nil
		}
		showing = within
	}
	switch {
	case f.audience.over():
		return nil
	case !f.audience.started:
		return err
	case within.Err() == nil:
		f.log.WarnContext(ctx, "stream broken off", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
	}
	f.audience.end(f.run)
	return nil
}

// followTime bounds the part of a stream that only follows: by what must be left
// of ctx's time, and by FollowFor.
func (f *follower) followTime(ctx context.Context) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if bounded {
		until = until.Add(-f.reserve)
	}
	if enough := f.env.Now().Add(f.Runtime.follow); f.Runtime.follow > 0 && (!bounded || enough.Before(until)) {
		until, bounded = enough, true
	}
	if !bounded {
		return ctx, func() {}
	}
	return f.env.WithDeadline(ctx, until)
}

// begin emits run_start, unless the audience has had it.
func (f *follower) begin(record core.Run) {
	if f.replayer == nil {
		f.replayer = run.NewReplayer(record, f.audience.take)
	}
}

// show emits what a head has that the last one shown had not. over says that
// nothing will follow: the run is done, with its closing records, or waits.
func (f *follower) show(ctx context.Context, head thread.Head) (record core.Run, over bool, err error) {
	if f.unchanged(head) {
		return f.record, false, nil // or the stream had ended
	}
	record, ok, err := f.mailbox.Run(ctx, f.key, head, f.run, f.dispatch)
	if err != nil {
		return record, false, err
	}
	if !ok {
		return record, false, core.Errorf(core.CodeNotFound, "run %s not found", f.run)
	}
	f.seen, f.record = head, record
	f.begin(record) // also while it is queued: run_start says that it is accepted, and which run it is
	if record.Status == core.RunCreated {
		return record, false, nil
	}
	if f.next == 0 {
		f.next = record.FirstSeq // 0 until the first step has committed
	}
	if err := f.replay(ctx, head.Seq); err != nil {
		return record, false, err
	}
	if err := f.showEarly(ctx, head); err != nil {
		return record, false, err
	}
	closing := head.Open() && head.Run.ID == f.run && head.Run.Status == thread.Closing
	return record, record.Status == core.RunWaiting || record.Status == core.RunDone && !closing, nil
}

// unchanged reports whether a head shows what the last one did. A run that is
// queued still is as it was, whatever else the thread does meanwhile.
func (f *follower) unchanged(head thread.Head) bool {
	if f.record.ID.IsZero() || head.Incarnation != f.seen.Incarnation {
		return false
	}
	status, known := head.RunStatus(f.run)
	return head.Version == f.seen.Version || known && status == core.RunCreated && f.record.Status == core.RunCreated
}

// replay emits the run's records up to seq.
func (f *follower) replay(ctx context.Context, seq uint64) error {
	if err := f.pass(ctx); err != nil {
		return err
	}
	if f.next == 0 || f.next > seq {
		return nil
	}
	for entry, err := range store.Entries(ctx, f.store, f.records, f.key, f.next, seq) {
		if err != nil {
			return err
		}
		if entry.Run != f.run {
			return nil // the next run has begun
		}
		if err := f.ready(ctx); err != nil {
			return err
		}
		if err := f.replayer.Add(entry.Entry); err != nil {
			return err
		}
		f.next++
	}
	return nil
}

// ready waits until the reader has taken what it was shown, so that a long run is
// not held in memory for a slow one; not while a run waits for this follower.
func (f *follower) ready(ctx context.Context) error {
	if f.hurry {
		return nil
	}
	return f.audience.ready(ctx)
}

// goOn makes the follower begin behind what a head covers.
func (f *follower) goOn(head thread.Head) {
	f.next, f.inside = head.Seq+1, head.Open() && head.Run.ID == f.run && head.Run.Cursor == thread.CursorTools
}

// pass tells the replayer of the turn whose results come next.
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
// are done, and the tickets that nobody has decided.
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
