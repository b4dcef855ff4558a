package mailbox

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// deletedUsage is the usage record of the open stretch of a run whose thread was deleted, from
// the committed records: was is the head before, next and result are the tombstone's. A record
// that cannot be read does not keep a thread from being
// deleted: the stretch is then marked as not fully known.
// The run's record is stored with its first commit. Before that, the input names the agent of
// the run.
func deletedUsage(ctx context.Context, s *Service, key core.ThreadKey, was, next thread.Head, result thread.Result) (store.Record, error) {
	books := accounting.Books{Metering: &accounting.Metering{Keep: s.keep}, Records: s.records, Store: s.reads.store}
	bill := books.Run(accounting.Claim{Key: key, Run: was.Run.ID})
	end := accounting.End{User: was.Owner, Deleted: true, At: s.env.Millis()}
	run, _, err := s.reads.runRecord(ctx, key, was.Run.ID)
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return store.Record{}, err
	}
	if run.AgentID == "" { // it has no commit yet
		if run, err = s.reads.queuedRun(ctx, key, was.Run.ID, was.Run.Dispatch); err != nil && core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
	}
	end.Run = &run
	if err := bill.Recall(ctx, &was); err != nil {
		if core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
		end.Lost = true
	}
	if end.Used, err = s.reads.used(ctx, key, was); err != nil {
		if core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
		end.Lost = true
	}
	settled, err := bill.Settle(next, result, end)
	return settled.Record, err
}

// SumUsage sums the records of past hours, of one shard, until the time is over, and returns
// the number of hours. A later call sums the rest: each shard has its turn in a minute of every
// sixteen. It does nothing if usage is not recorded.
func (s *Service) SumUsage(ctx context.Context, until time.Time) (summed int, err error) {
	if s.keep == 0 {
		return 0, nil
	}
	return s.ledger.SumNext(ctx, until)
}

// used is what the open run has used so far: the totals of its open round, or those of its
// newest turn and of the results after it; nil: it has no turn yet.
func (r reader) used(ctx context.Context, key core.ThreadKey, head thread.Head) (*thread.Metered, error) {
	if head.Run.Round != 0 {
		stored, ok, err := r.store.Get(ctx, key, recordname.Round(head.Run.ID, head.Run.Round))
		if err != nil || !ok {
			return nil, fmt.Errorf("read open round: %w", orCorrupt(err))
		}
		var open thread.RoundRecord
		err = r.records.Decode("round", stored.Payload, &open)
		return open.Totals.Metered, err
	}
	var after []thread.Entry // results of the newest turn, newest first
	for record, err := range r.store.LogBackwards(ctx, key, head.Seq-min(head.Seq, thread.MaxCalls), head.Seq) {
		if err != nil {
			return nil, err
		}
		entry, err := r.records.DecodeEntry(record.Payload)
		if entry.Run != head.Run.ID { // another's, or it cannot be read
			return nil, err
		}
		if entry.Totals == nil {
			after = append(after, entry)
			continue
		}
		totals := *entry.Totals
		for i := range after {
			if m := after[i].Message; m != nil && m.ToolResult != nil {
				totals.MeterResult(&after[i])
			}
		}
		return totals.Metered, nil
	}
	return nil, nil
}

// orCorrupt is err, or store.ErrCorrupt for a record that the head names and that is missing.
func orCorrupt(err error) error {
	if err == nil {
		return store.ErrCorrupt
	}
	return err
}
