package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// delete makes the tombstone. Where a run is open that somebody pays for, what it has used
// since it began or was resumed is recorded with it: nobody comes to its end any more. What
// its holder had not committed is lost with it.
func (s *Service) delete(ctx context.Context, key core.ThreadKey, user string) error {
	c := commit{Service: s, key: key}
	var was thread.Head
	c.choose = func(h thread.Head) thread.Change {
		was = h
		return thread.Delete{Owner: user}
	}
	c.build = func(next thread.Head, result thread.Result) ([]store.Record, error) {
		if result.Stretch == nil {
			return nil, nil
		}
		record, err := s.deletedUsage(ctx, key, was, *result.Stretch)
		record.Fence, record.Version = was.Fence, next.Version
		return []store.Record{record}, err
	}
	_, _, err := c.run(ctx, thread.Head{})
	return err
}

// deletedUsage is the record of the open run's stretch, from what is committed. A record
// that cannot be read keeps no thread from being deleted: the stretch is then one of which
// little is known.
func (s *Service) deletedUsage(ctx context.Context, key core.ThreadKey, head thread.Head, stretch thread.Stretch) (store.Record, error) {
	closing := account.Closing{Run: head.Run.ID, Stretch: stretch, User: head.Owner, End: account.EndDeleted, Until: s.env.Millis()}
	run, _, err := s.runRecord(ctx, key, head.Run.ID)
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return store.Record{}, err
	}
	if run.AgentID == "" { // it has no commit yet
		if run.Run, err = s.queued(ctx, key, head.Run.ID, head.Run.Dispatch); err != nil && core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
	}
	closing.Agent = run.AgentID
	closing.Base, closing.Known = run.Base(stretch)
	if stretch.Wasted != 0 {
		if closing.Wasted, err = s.wasted(ctx, key, head.Run.ID, stretch.Wasted); err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				return store.Record{}, err
			}
			closing.Known = false
		}
	}
	if closing.Used, err = s.used(ctx, key, head); err != nil {
		if core.CodeOf(err) != core.CodeCorrupt {
			return store.Record{}, err
		}
		closing.Known = false
	}
	r := closing.Record()
	return r.Encode(s.records, s.keep)
}

// used is what the open run has used so far: the totals of its open round, or those of
// its newest turn and the results behind it.
func (s *Service) used(ctx context.Context, key core.ThreadKey, head thread.Head) (*thread.Metered, error) {
	if head.Run.Round != 0 {
		stored, ok, err := s.store.Get(ctx, key, store.RoundName(head.Run.ID, head.Run.Round))
		if err != nil || !ok {
			return nil, fmt.Errorf("read open round: %w", orCorrupt(err))
		}
		var open thread.RoundRecord
		err = s.records.Decode("round", stored.Payload, &open)
		return open.Totals.Metered, err
	}
	var behind []thread.Entry
	for record, err := range s.store.LogBackwards(ctx, key, head.Seq-min(head.Seq, thread.MaxCalls+1), head.Seq) {
		if err != nil {
			return nil, err
		}
		entry, err := s.records.DecodeEntry(record.Payload)
		if err != nil || entry.Run != head.Run.ID {
			return nil, err
		}
		if entry.Totals == nil {
			behind = append(behind, entry)
			continue
		}
		totals := *entry.Totals
		for i := range behind {
			if m := behind[i].Message; m != nil && m.ToolResult != nil {
				totals.MeterResult(&behind[i])
			}
		}
		return totals.Metered, nil
	}
	return nil, nil
}

// wasted is what the stretch has asked of models for turns that came to nothing.
func (s *Service) wasted(ctx context.Context, key core.ThreadKey, run core.ID, version uint64) (*thread.Metered, error) {
	stored, ok, err := s.store.Get(ctx, key, store.WastedName(run, version))
	if err != nil || !ok {
		return nil, fmt.Errorf("read wasted calls: %w", orCorrupt(err))
	}
	wasted := new(thread.Metered)
	return wasted, s.records.Decode("wasted calls", stored.Payload, wasted)
}

func orCorrupt(err error) error {
	if err == nil {
		return store.ErrCorrupt
	}
	return err
}
