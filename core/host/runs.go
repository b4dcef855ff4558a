package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// ReadRun reads a run with its status and the tickets that it waits for, and those of the runs
// that it has started. Head and record
// are two reads: the head is the older one, and decides if they differ. The error is
// core.CodeNotFound for a run that does not exist or that the caller may not read.
func (r *Host) ReadRun(ctx context.Context, id core.Identity, runID core.ID) (core.Run, error) {
	key, head, record, err := r.reads.runRecord(ctx, id, runID)
	if err == nil && head.Run.ID == runID {
		err = r.reads.noteAllTickets(ctx, key, head, &record)
	}
	if err != nil {
		return core.Run{}, err
	}
	return record, nil
}

// ActiveRun reads the thread's open run with the tickets that it waits for. ok is false
// if no run is open, or the open run is closing: nothing can be steered to it any more.
func (r *Host) ActiveRun(ctx context.Context, id core.Identity, threadID string) (record core.Run, ok bool, err error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return record, false, err
	}
	if !head.Open() || head.Run.Status == thread.Closing {
		return record, false, nil
	}
	// The head has the run open, so that it is known.
	if record, _, err = r.mailbox.Run(ctx, key, head, head.Run.ID, head.Run.Dispatch); err == nil {
		err = r.reads.noteAllTickets(ctx, key, head, &record)
	}
	return record, err == nil, err
}

// RunOfKey finds a run by the key that its input was submitted under (mailbox.Key.Value),
// for clients that name their runs. ok is false if the thread knows no such key, does not
// exist, or is another user's.
func (r *Host) RunOfKey(ctx context.Context, id core.Identity, threadID, name string) (run core.ID, ok bool, err error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if core.CodeOf(err) == core.CodeNotFound {
		return run, false, nil
	}
	if err != nil {
		return run, false, err
	}
	return r.mailbox.Submitted(ctx, key, head, name)
}

// DescribeRun is [Host.ReadRun] with how the run's input begins and the title of its thread,
// which are two more records.
func (r *Host) DescribeRun(ctx context.Context, id core.Identity, runID core.ID) (core.Run, error) {
	record, err := r.ReadRun(ctx, id, runID)
	if err != nil {
		return core.Run{}, err
	}
	key := core.ThreadKey{Tenant: r.reads.tenantOf(id), Thread: record.ThreadID}
	return record, r.reads.describeRun(ctx, key, &record)
}

// describeRun reads how a run's input begins and the title of its thread, at the same time.
// Without a title that can be read it has none: neither is worth an error, since the run is
// known without them.
func (r *reader) describeRun(ctx context.Context, key core.ThreadKey, run *core.Run) error {
	var title string
	group, _ := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		title, err = r.title(ctx, key)
		return err
	})
	group.Go(func(ctx context.Context) error {
		l, err := r.listing(ctx, key, recordname.Listing(run.ID))
		if err != nil {
			return err
		}
		return r.noteAsked(ctx, key, run, l.Asked)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("describe run %s: %w", run.ID, err)
	}
	run.ThreadTitle = title
	return nil
}

// title reads the title of a thread; empty: it has none that can be read.
func (r *reader) title(ctx context.Context, key core.ThreadKey) (string, error) {
	about, err := r.mailbox.About(ctx, key)
	if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
		return "", nil
	}
	return about.Title, err
}

// noteAsked notes how a run's input begins: as its listing has it, else as its queued input
// or its first message has it. A run that steered input has opened has no listing that knows
// it, nor have runs of older programs. The first message is a whole record of the log, which
// may be large, and is read for such runs only.
//
// The record of a run names its first message before the log has it. A record at that place
// may then be missing, or be left by a write that was refused: it counts if it is the run's.
func (r *reader) noteAsked(ctx context.Context, key core.ThreadKey, run *core.Run, listed string) error {
	if listed != "" {
		run.Asked = listed
	}
	if run.Asked != "" || run.FirstSeq == 0 {
		return nil
	}
	first, err := threadlog.Read(ctx, r.store, r.records, key, run.FirstSeq, run.FirstSeq)
	switch code := core.CodeOf(err); {
	case code == core.CodeCorrupt, code == core.CodeSchema: // not committed yet, or it cannot be read
		return nil
	case err != nil:
		return err
	}
	if m := first[0].Message; m != nil {
		run.Asked = thread.Short(thread.Asked([]core.Message{*m}, run.ID))
	}
	return nil
}

// dispatchOf returns the dispatch of a run that is queued or delayed; zero: it is neither.
func dispatchOf(head thread.Head, run core.ID) core.ID {
	for _, d := range head.Unopened() {
		if d.Run == run {
			return d.ID
		}
	}
	return core.ID{}
}
