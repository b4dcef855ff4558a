package threadlog

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Superseded reads which ranges of a thread's log are superseded, newest first: all that
// reach past a sequence, and maybe some before it. They do not overlap. newest is the
// head's Supersedes. It reads one record, and another for each [thread.MaxEarlier] ranges
// more; none when nothing is superseded there.
func Superseded(ctx context.Context, log Log, records thread.Records, key core.ThreadKey, newest, seq uint64) ([]thread.Range, error) {
	var ranges []thread.Range
	for at, oldest := newest, newest; oldest > seq; {
		entries, err := Read(ctx, log, records, key, at, at)
		if err != nil {
			return nil, err
		}
		e := entries[0]
		if len(ranges) > 0 { // the range is known already, as one of a later record's
			ranges = ranges[:len(ranges)-1]
		}
		if e.Superseded == nil || e.Superseded.Record() != at {
			return nil, fmt.Errorf("log of %s: the record at %d supersedes %+v: %w", key, at, e.Superseded, store.ErrCorrupt)
		}
		oldest = at
		for _, r := range append([]thread.Range{*e.Superseded}, e.Earlier...) {
			if r.From == 0 || r.From > r.To || r.Record() > oldest {
				return nil, fmt.Errorf("log of %s: the record at %d names the superseded range %d to %d: %w", key, at, r.From, r.To, store.ErrCorrupt)
			}
			ranges, oldest = append(ranges, r), r.From-1
		}
		if len(e.Earlier) < thread.MaxEarlier {
			break
		}
		at = ranges[len(ranges)-1].Record()
	}
	return ranges, nil
}
