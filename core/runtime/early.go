package runtime

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What is visible before the log comes to it: a result whose call the head marks
// done lies at its reserved place behind the head's sequence, and accepted input in
// a record of its own, which the head names. Either is read only because the head
// says so; what else lies there may be left from a write that was refused.

// sized is a message with the bytes that it counts on a page.
type sized struct {
	core.Message
	size int
}

// earlyMessages are the messages behind a sequence that are visible before the log
// comes to them: results in call order, then input in the order in which it came,
// which is about the order that the log will have. A result's place is reserved;
// the place of input is not known before a step reads it, so it has no sequence.
// An error is the last that it yields.
func (r *reader) earlyMessages(ctx context.Context, key core.ThreadKey, head thread.Head, after uint64) iter.Seq2[sized, error] {
	return func(yield func(sized, error) bool) {
		for result, err := range r.openResults(ctx, key, head) {
			if err != nil {
				yield(sized{}, err)
				return
			}
			if head.Run.Base+uint64(result.call) > after && !yield(sized{messageOf(&result.entry), result.size}, nil) {
				return
			}
		}
		for m, err := range r.pending(ctx, key, head) {
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// openResult is a result of an open round that counts already.
type openResult struct {
	call  int
	entry thread.Entry
	size  int // bytes of its record
}

// openResults are the results of the open round that the head marks done, in call
// order, one read at a time. One that is missing is store.ErrCorrupt. An error is
// the last that it yields.
func (r *reader) openResults(ctx context.Context, key core.ThreadKey, head thread.Head) iter.Seq2[openResult, error] {
	calls, base := head.Run.Calls, head.Run.Base
	return func(yield func(openResult, error) bool) {
		if !head.Open() || !slices.Contains(calls, thread.CallDone) {
			return
		}
		missing := func(i int) {
			yield(openResult{}, fmt.Errorf("log of %s has no result at %d, the head says that call %d is done: %w", key, base+uint64(i), i, store.ErrCorrupt))
		}
		// The places between may be empty, or hold results that nobody vouches for. Only
		// those of the calls that are done are looked at, and each of them must be there.
		next := nextDone(calls, 0)
		for record, err := range r.store.Log(ctx, key, base, base+uint64(len(calls))-1) {
			if err != nil {
				yield(openResult{}, fmt.Errorf("read log of %s: %w", key, err))
				return
			}
			seq, ok := store.LogSeq(record.Name)
			i := int(seq - base)
			if !ok || seq < base || i >= len(calls) || calls[i] != thread.CallDone {
				continue // it is stored, but nothing says yet that it counts
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
			if !yield(openResult{i, entry, len(record.Payload)}, nil) {
				return
			}
			next = nextDone(calls, i+1)
		}
		if next < len(calls) {
			missing(next)
		}
	}
}

// nextDone is the first call from i on that is done; none: the number of calls.
func nextDone(calls []thread.CallStatus, i int) int {
	for i < len(calls) && calls[i] != thread.CallDone {
		i++
	}
	return i
}

// waiting is input that no step has read: its record, and the run that will read
// it.
type waiting struct {
	id       core.ID
	revision uint32
	run      core.ID
}

// unread lists the input that the head holds and the log does not, in the order
// in which it came: ids begin with their time. The head keeps it in another order,
// that in which it will be read, by run and priority.
//
// A run that closes before its first step still lists its input, which its end
// stores.
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
			run = head.Inbox[0].ID // it becomes a run of its own
		}
		rest(head.Inbox, run)
	}
	for _, d := range head.Unopened() {
		all = append(all, waiting{d.ID, d.Revision, d.Run})
		rest(d.Rest, d.Run)
	}
	const timed = 6 // bytes of an id, which are milliseconds
	slices.SortStableFunc(all, func(a, b waiting) int { return bytes.Compare(a.id[:timed], b.id[:timed]) })
	return all
}

// pendingAtOnce is how many inputs are read beside each other: enough to hide how
// far away the store is, and no more than a few megabytes.
const pendingAtOnce = 4

// pending are the messages of input that no step has read, under the ids that they
// will have. Input that is lost is left out, as steps do. An error is the last that
// it yields.
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

// inputs reads some inputs, all at once. One that is missing is an ERROR in the log
// and no message: the head is all that knows of it, and a thread that could not be
// read because of it would be worse. Of several messages of one input each counts
// its share, since they come from one record.
func (r *reader) inputs(ctx context.Context, key core.ThreadKey, inputs []waiting) (messages []sized, err error) {
	// Each function writes its own places of the two, and Wait comes before they are
	// read: no lock.
	texts, sizes := make([]thread.Queued, len(inputs)), make([]int, len(inputs))
	group, _ := r.env.Group(ctx)
	for i, in := range inputs {
		read := func(ctx context.Context) error {
			name := store.InputName(in.id, in.revision)
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
