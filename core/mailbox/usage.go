package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// deletedUsage is the usage record of the stretch of a run that was open when its thread was
// deleted, from what is committed. A record that cannot be read does not keep a thread from
// being deleted: the stretch is then marked as not fully known.
// The run's record is stored with its first commit. Before that, the input says which agent
// the run is of.
func (s *Service) deletedUsage(ctx context.Context, key core.ThreadKey, head thread.Head, stretch thread.Stretch) (store.Record, error) {
	closing := account.Closing{Run: head.Run.ID, Stretch: stretch, User: head.Owner, End: account.EndDeleted, Until: s.env.Millis()}
	run, _, err := s.reads.runRecord(ctx, key, head.Run.ID)
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return store.Record{}, err
	}
	if run.AgentID == "" { // it has no commit yet
		if run.Run, err = s.reads.queuedRun(ctx, key, head.Run.ID, head.Run.Dispatch); err != nil && core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
	}
	closing.Agent = run.AgentID
	closing.Base, closing.Known = run.Base(stretch)
	if stretch.Wasted != 0 {
		if closing.Wasted, err = s.reads.wasted(ctx, key, head.Run.ID, stretch.Wasted); err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				return store.Record{}, err
			}
			closing.Known = false
		}
	}
	if closing.Used, err = s.reads.used(ctx, key, head); err != nil {
		if core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
		closing.Known = false
	}
	r := closing.Record()
	return r.Encode(s.records, s.keep)
}

// used is what the open run has used so far: the totals of its open round, or those of its
// newest turn and of the results after it; nil: it has no turn yet.
func (r reader) used(ctx context.Context, key core.ThreadKey, head thread.Head) (*thread.Metered, error) {
	if head.Run.Round != 0 {
		stored, ok, err := r.store.Get(ctx, key, store.RoundName(head.Run.ID, head.Run.Round))
		if err != nil || !ok {
			return nil, fmt.Errorf("read open round: %w", orCorrupt(err))
		}
		var open thread.RoundRecord
		err = r.records.Decode("round", stored.Payload, &open)
		return open.Totals.Metered, err
	}
	var after []thread.Entry // results of the newest turn, newest first
	for record, err := range r.store.LogBackwards(ctx, key, head.Seq-min(head.Seq, thread.MaxCalls+1), head.Seq) {
		if err != nil {
			return nil, err
		}
		entry, err := r.records.DecodeEntry(record.Payload)
		if err != nil || entry.Run != head.Run.ID {
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

// wasted is what the stretch used of models for turns that are not in the log.
// The head names the record that counts by its version. A missing one is store.ErrCorrupt.
func (r reader) wasted(ctx context.Context, key core.ThreadKey, run core.ID, version uint64) (*thread.Metered, error) {
	stored, ok, err := r.store.Get(ctx, key, store.WastedName(run, version))
	if err != nil || !ok {
		return nil, fmt.Errorf("read wasted calls: %w", orCorrupt(err))
	}
	wasted := new(thread.Metered)
	return wasted, r.records.Decode("wasted calls", stored.Payload, wasted)
}

// orCorrupt is err, or store.ErrCorrupt for a record that the head names and that is missing.
func orCorrupt(err error) error {
	if err == nil {
		return store.ErrCorrupt
	}
	return err
}
