package replay

import (
	"context"
	"fmt"
	"regexp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// summaries are the summaries of a thread that its turns used, by the sequence that they
// cover. A replay makes none: a model would write another text.
type summaries map[uint64]store.Record

// summed is the summary that the run's first turn was said under; 0: it was under none.
func (r *recording) summed() uint64 {
	for i := range r.entries {
		if w := r.entries[i].Window; w != nil {
			return w.Summary
		}
	}
	return 0
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
				if err := o.readSummary(ctx, from, key, upTo, all); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// readSummary reads a summary and its predecessors: a fork has some that none of its
// turns used.
func (o Options) readSummary(ctx context.Context, from store.Backend, key core.ThreadKey, upTo uint64, all summaries) error {
	for upTo > 0 {
		if _, known := all[upTo]; known {
			return nil
		}
		record, ok, err := from.Get(ctx, key, recordname.Summary(upTo))
		if err != nil {
			return fmt.Errorf("read summary: %w", err)
		}
		if !ok {
			return nil
		}
		all[upTo] = record
		s, err := o.Records.DecodeSummary(upTo, record.Payload)
		if err != nil { // nothing depends on it, or the replay reports it
			return nil
		}
		upTo = s.Predecessor
	}
	return nil
}

// incarnation is the member of a summary's record that names the thread; another follows it.
var incarnation = regexp.MustCompile(`"incarnation":[0-9]+,`)

// lay puts them into the store of a replay, where the thread is another incarnation.
func (s summaries) lay(ctx context.Context, on store.Backend, key core.ThreadKey) error {
	for _, record := range s {
		payload := incarnation.ReplaceAll(record.Payload, nil)
		if err := on.Put(ctx, key, store.Record{Name: record.Name, Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

// inForce is the summary that was in force after some records.
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
