package replay

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// summaries are those of a thread that turns were said under, by the sequence that they
// cover. A replay makes none: whatever a model has written, it would write something else.
type summaries map[uint64]store.Record

// Window implements run.History.
func (r *recording) Window(_ core.ID, step int) *core.Window {
	switch s := r.steps[step]; {
	case s == nil:
		return nil
	case s.turn != nil:
		return s.turn.Window
	case s.failed != nil:
		return s.failed.Window
	}
	return nil
}

// readSummaries reads what the turns of a thread were said under, and found when they
// asked for one.
func (o Options) readSummaries(ctx context.Context, from store.Backend, key core.ThreadKey, runs []*recording) (summaries, error) {
	all := summaries{}
	for _, r := range runs {
		for i := range r.entries {
			w := r.entries[i].Window
			if w == nil {
				continue
			}
			for _, upTo := range []uint64{w.Summary, w.Skipped} {
				if _, known := all[upTo]; known || upTo == 0 {
					continue
				}
				record, ok, err := from.Get(ctx, key, store.SummaryName(upTo))
				if err != nil {
					return nil, fmt.Errorf("read summary: %w", err)
				}
				if ok {
					all[upTo] = record
				}
			}
		}
	}
	return all, nil
}

// lay puts them into the store of a replay.
func (s summaries) lay(ctx context.Context, on store.Threads, key core.ThreadKey) error {
	for _, record := range s {
		if err := on.Put(ctx, key, store.Record{Name: record.Name, Payload: record.Payload}); err != nil {
			return err
		}
	}
	return nil
}

// inForce is the summary that was in force behind some records.
func (s summaries) inForce(records thread.Records, entries []thread.Entry) (upTo uint64) {
	for i := range entries {
		if r := entries[i].Superseded; r != nil {
			for upTo >= r.From && upTo > 0 {
				was, err := records.DecodeSummary(upTo, s[upTo].Payload)
				if err != nil {
					return 0
				}
				upTo = was.Predecessor
			}
		}
		if w := entries[i].Window; w != nil {
			upTo = max(upTo, w.Summary)
		}
	}
	return upTo
}
