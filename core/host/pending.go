package host

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// waiting is input that no step has read: the id and revision of its record, and the run
// that will read it.
type waiting struct {
	id       core.ID
	revision uint32
	run      core.ID
}

// unread lists the input that the head holds and the log does not, in order of arrival:
// ids start with their time. The head has it in the order in which it will be read, by run
// and priority.
//
// A run that closes before its first step still has its input, which its end stores.
func unread(head thread.Head) (all []waiting) {
	rest := func(entries []thread.InboxEntry, run core.ID) {
		for _, e := range entries {
			all = append(all, waiting{e.ID, e.Revision, run})
		}
	}
	if head.Open() {
		if head.Run.Cursor == thread.CursorStart {
			all = append(all, waiting{head.Run.Dispatch, head.Run.Revision, head.Run.ID})
		}
		run := head.Run.ID
		if head.Run.Status == thread.Closing && len(head.Inbox) > 0 {
			run = head.Inbox[0].ID // the first entry opens a run, which reads the others
		}
		rest(head.Inbox, run)
	}
	for _, d := range head.Unopened() {
		all = append(all, waiting{d.ID, d.Revision, d.Run})
		rest(d.Rest, d.Run)
	}
	const timed = 6 // bytes of an id that are its time in milliseconds
	slices.SortStableFunc(all, func(a, b waiting) int { return bytes.Compare(a.id[:timed], b.id[:timed]) })
	return all
}

// pendingAtOnce is how many inputs are read concurrently: enough to hide the store's
// latency, and not more than a few megabytes in memory.
const pendingAtOnce = 4

// pending yields the messages of input that no step has read, under the ids that they will
// have. Lost input is omitted, as steps omit it. An error is the last that it yields.
func (r *reader) pending(ctx context.Context, key core.ThreadKey, head thread.Head) iter.Seq2[sized, error] {
	return func(yield func(sized, error) bool) {
		for inputs := range slices.Chunk(unread(head), pendingAtOnce) {
			read, err := r.inputs(ctx, key, inputs)
			if err != nil {
				yield(sized{}, err)
				return
			}
			for _, m := range read {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

// inputs reads several inputs concurrently. A missing one is logged as an error and
// omitted: only the head knows of it, and a thread that cannot be read because of it would
// be worse. Each message of an input counts an equal share of the record's size.
func (r *reader) inputs(ctx context.Context, key core.ThreadKey, inputs []waiting) (messages []sized, err error) {
	// Each function writes its own elements of the two, and Wait precedes the reads: no
	// lock is needed.
	texts, sizes := make([]thread.Queued, len(inputs)), make([]int, len(inputs))
	group, _ := r.env.Group(ctx)
	for i, in := range inputs {
		read := func(ctx context.Context) error {
			name := recordname.Input(in.id, in.revision)
			record, ok, err := r.store.Get(ctx, key, name)
			if err != nil {
				return fmt.Errorf("read queued input: %w", err)
			}
			if !ok {
				r.log.ErrorContext(ctx, "input is lost", "tenant", key.Tenant, "thread", key.Thread, "input", name)
				return nil
			}
			sizes[i] = len(record.Payload)
			texts[i], err = r.records.DecodeQueued(record.Payload)
			return err
		}
		group.Go(read)
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, text := range texts {
		for _, m := range text.Messages {
			m.RunID, m.Pending = inputs[i].run, true
			messages = append(messages, sized{m, sizes[i] / len(text.Messages)})
		}
	}
	return messages, nil
}
