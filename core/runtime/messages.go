package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Limits of a message page.
const (
	defaultPage = 50
	maxPage     = 200
)

// Messages reads a page of a thread's committed messages, without those that a
// later run has superseded: they are passed over unread. Which they are is one
// record more for each page before the newest of those runs, two when more than
// 65 ranges of the log are superseded, and so on; a thread where nothing is
// superseded costs nothing. Each page is as the thread stands when it is read.
//
// The last page has
// besides, over its limit, what is visible early: the results of a round that is
// still open, and accepted input that no step has read, marked as pending. No
// cursor passes an open turn: who asks again with that of the last page is shown
// what has come since.
func (r *Runtime) Messages(ctx context.Context, id core.Identity, threadID string, q MessageQuery) (MessagePage, error) {
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	if q.Limit < 1 || q.Limit > maxPage {
		return MessagePage{}, core.Errorf(core.CodeInvalid, "limit %d, allowed are 1 to %d", q.Limit, maxPage)
	}
	key, head, err := r.open(ctx, id, threadID)
	if err != nil {
		return MessagePage{}, err
	}
	superseded, err := store.Superseded(ctx, r.store, r.records, key, head.Supersedes, q.After)
	if err != nil {
		return MessagePage{}, err
	}
	page := MessagePage{Messages: []core.Message{}, Total: int(head.Seq)}
	seq := q.After
	for seq < head.Seq && len(page.Messages) < q.Limit {
		from, end := shown(superseded, seq+1, head.Seq)
		if seq = from - 1; seq >= head.Seq {
			break
		}
		to := min(end, seq+uint64(q.Limit-len(page.Messages)))
		entries, err := store.ReadLog(ctx, r.store, r.records, key, seq+1, to)
		if err != nil {
			return MessagePage{}, err
		}
		for _, entry := range entries {
			if entry.Message != nil {
				page.Messages = append(page.Messages, *entry.Message)
			}
		}
		seq = to
	}
	if seq < head.Seq {
		page.Next = seq
		return page, nil
	}
	early, err := r.early(ctx, key, head, seq)
	if err != nil {
		return MessagePage{}, err
	}
	page.Messages = append(page.Messages, early...)
	return page, nil
}

// shown is where the log goes on that readers see, at a sequence or behind it, and
// the last sequence before the next superseded range. Ranges are newest first.
func shown(superseded []thread.Range, from, last uint64) (first, end uint64) {
	for _, r := range slices.Backward(superseded) {
		switch {
		case from > r.To: // it lies behind the reader
		case from < r.From:
			return from, r.From - 1
		default:
			from = r.Record()
		}
	}
	return from, last
}

// early are the messages that are visible before the log comes to them, behind a
// sequence.
func (r *Runtime) early(ctx context.Context, key core.ThreadKey, head thread.Head, after uint64) (messages []core.Message, err error) {
	results, err := r.openResults(ctx, key, head)
	if err != nil {
		return nil, err
	}
	for i, entry := range results {
		if entry != nil && head.Run.Base+uint64(i) > after {
			messages = append(messages, *entry.Message)
		}
	}
	pending, err := r.pending(ctx, key, head)
	return append(messages, pending...), err
}

// openResults are the results of the open round that the head marks done, by
// call; nil for the others. One that is missing is store.ErrCorrupt.
func (r *Runtime) openResults(ctx context.Context, key core.ThreadKey, head thread.Head) ([]*thread.Entry, error) {
	calls := head.Run.Calls
	if !head.Open() || !slices.Contains(calls, thread.CallDone) {
		return nil, nil
	}
	results := make([]*thread.Entry, len(calls))
	for record, err := range r.store.Log(ctx, key, head.Run.Base, head.Run.Base+uint64(len(calls))-1) {
		if err != nil {
			return nil, fmt.Errorf("read log of %s: %w", key, err)
		}
		seq, ok := store.LogSeq(record.Name)
		i := int(seq - head.Run.Base)
		if !ok || seq < head.Run.Base || i >= len(calls) || calls[i] != thread.CallDone {
			continue // it is stored, but nothing says yet that it counts
		}
		entry, err := r.records.DecodeEntry(record.Payload)
		if err != nil {
			return nil, fmt.Errorf("log of %s at %d: %w", key, seq, err)
		}
		if entry.Message != nil && entry.Message.ToolResult != nil {
			results[i] = &entry
		}
	}
	for i, status := range calls {
		if status == thread.CallDone && results[i] == nil {
			return nil, fmt.Errorf("log of %s has no result at %d, the head says that call %d is done: %w", key, head.Run.Base+uint64(i), i, store.ErrCorrupt)
		}
	}
	return results, nil
}

// waiting is input that no step has read: its record, and the run that will read
// it.
type waiting struct {
	id       core.ID
	revision uint32
	run      core.ID
}

// unread lists the input that the head holds and the log does not, in the order
// in which it will be read.
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
	for _, d := range head.Pending {
		all = append(all, waiting{d.ID, d.Revision, d.Run})
		rest(d.Rest, d.Run)
	}
	return all
}

// pending are the messages of input that no step has read, oldest first, under
// the ids that they will have. Input that is lost is left out, as steps do.
func (r *Runtime) pending(ctx context.Context, key core.ThreadKey, head thread.Head) (messages []core.Message, err error) {
	inputs := unread(head)
	if len(inputs) == 0 {
		return nil, nil
	}
	texts := make([]thread.Queued, len(inputs))
	read := func(ctx context.Context, i int) error {
		name := store.InputName(inputs[i].id, inputs[i].revision)
		record, ok, err := r.store.Get(ctx, key, name)
		if err != nil {
			return fmt.Errorf("read queued input: %w", err)
		}
		if !ok {
			r.log.ErrorContext(ctx, "input is lost", "tenant", key.Tenant, "thread", key.Thread, "input", name)
			return nil
		}
		texts[i], err = r.records.DecodeQueued(record.Payload)
		return err
	}
	group, shared := r.env.Group(ctx)
	for i := 1; i < len(inputs); i++ {
		group.Go(func(ctx context.Context) error { return read(ctx, i) })
	}
	err = read(shared, 0)
	if err := errors.Join(group.Wait(), err); err != nil {
		return nil, err
	}
	for i, text := range texts {
		for _, m := range text.Messages {
			m.RunID, m.Pending = inputs[i].run, true
			messages = append(messages, m)
		}
	}
	slices.SortStableFunc(messages, func(a, b core.Message) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	return messages, nil
}
