package host

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// openResult is a result of an open round that already counts.
type openResult struct {
	call  int
	entry thread.Entry
	size  int // bytes of its JSON
}

// openResults yields the results of the open round whose calls the head marks done, in
// call order, one read at a time. A missing one is store.ErrCorrupt: a result is stored
// before the head write that marks its call. An error is the last that it yields.
func (r *reader) openResults(ctx context.Context, key core.ThreadKey, head thread.Head) iter.Seq2[openResult, error] {
	calls, base := head.Run.Calls, head.Run.Base
	return func(yield func(openResult, error) bool) {
		if !slices.Contains(calls, thread.CallDone) { // also if no run is open
			return
		}
		missing := func(i int) {
			yield(openResult{}, fmt.Errorf("log of %s has no result at %d, but call %d is done in the head: %w", key, base+uint64(i), i, store.ErrCorrupt))
		}
		// Other sequences of the round may be empty, or hold results that do not count.
		// Only those of done calls are decoded, and each of them must exist.
		next := nextDone(calls, 0)
		for record, err := range r.store.Log(ctx, key, base, base+uint64(len(calls))-1) {
			if err != nil {
				yield(openResult{}, fmt.Errorf("read log of %s: %w", key, err))
				return
			}
			seq, ok := record.LogSeq()
			i := int(seq - base)
			if !ok || seq < base || i >= len(calls) || calls[i] != thread.CallDone {
				continue // it is stored, but does not count yet
			}
			entry, err := r.records.DecodeEntry(record.Payload)
			if err != nil {
				yield(openResult{}, fmt.Errorf("log of %s at %d: %w", key, seq, err))
				return
			}
			if i != next || entry.Message == nil || entry.Message.ToolResult == nil {
				missing(next)
				return
			}
			if !yield(openResult{i, entry, entry.JSONSize()}, nil) {
				return
			}
			next = nextDone(calls, i+1)
		}
		if next < len(calls) {
			missing(next)
		}
	}
}

// nextDone returns the first done call from i on, or the number of calls if no such call
// exists.
func nextDone(calls []thread.CallStatus, i int) int {
	for i < len(calls) && calls[i] != thread.CallDone {
		i++
	}
	return i
}
