package runtime

import (
	"context"
	"errors"
	"fmt"

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
	reader        reader
	next          uint64 // sequence of the next record to show; 0: the run's first
	inside        bool   // the record before next is a turn that the reader has, whose results come next
	replayer      *run.Replayer
	early         progress // of the open round, before the log comes to it

	seen   thread.Head // of the last show
	record core.Run    // as seen has it; no ID before the first show
}

// progress is what of an open round was shown.
type progress struct {
	base    uint64          // of its results
	results int             // how many calls were done
	tickets map[uint64]bool // by key
}

// errReaderGone ends a follow whose reader went away; nobody is told.
var errReaderGone = errors.New("reader is gone")

// follow shows what is committed until the run is done or waits, or the time is
// over. Once something was shown, it ends the stream rather than fail.
func (f *follower) follow(ctx context.Context) error {
	for !f.reader.gone {
		record, over, err := f.show(ctx)
		if errors.Is(err, errReaderGone) {
			return nil
		}
		if err != nil && !f.reader.started {
			return err
		}
		if err != nil && ctx.Err() == nil {
			f.log.WarnContext(ctx, "stream broken off", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		}
		if err != nil || over || !f.timeLeft(ctx) || f.env.Sleep(ctx, f.Runtime.follow) != nil {
			f.finish(record, over)
		}
	}
	return nil
}

// finish emits the stream's last event; an error is a reader that went away.
func (f *follower) finish(record core.Run, over bool) {
	if !over {
		_ = f.reader.take(core.Event{Type: core.EventRunYield, RunID: f.run})
	} else {
		f.begin(record)
		_ = f.replayer.Finish(record)
	}
	f.reader.gone = true
}

func (f *follower) begin(record core.Run) {
	if f.replayer == nil {
		f.replayer = run.NewReplayer(record, f.reader.take)
	}
}

// show emits what was committed since the last time. over says that nothing
// will follow: the run is done, with its closing records, or waits.
func (f *follower) show(ctx context.Context) (record core.Run, over bool, err error) {
	head, err := f.mailbox.Head(ctx, f.key)
	if err != nil {
		return record, false, err
	}
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
	for record, err := range f.store.Log(ctx, f.key, f.next, seq) {
		if err != nil {
			return fmt.Errorf("read log of %s: %w", f.key, err)
		}
		if record.Name != store.LogName(f.next) {
			return fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", f.key, record.Name, f.next, store.ErrCorrupt)
		}
		if f.reader.listener.Ready(ctx) != nil {
			return errReaderGone
		}
		entry, err := f.records.DecodeEntry(record.Payload)
		if err != nil {
			return err
		}
		if entry.Run != f.run {
			return nil // the next run has begun
		}
		if f.replayer.Add(entry) != nil {
			return errReaderGone
		}
		f.next++
	}
	return nil
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
	results, err := f.openResults(ctx, f.key, head)
	if err != nil {
		return err
	}
	behind := false
	for i, entry := range results {
		if entry == nil {
			behind = true
		} else if f.replayer.Early(i, *entry, behind) != nil {
			return errReaderGone
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
		if f.replayer.Suspended(t) != nil {
			return errReaderGone
		}
	}
	for _, t := range head.Tickets {
		f.early.tickets[t.ID] = true
	}
	return nil
}
